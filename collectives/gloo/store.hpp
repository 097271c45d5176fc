/// Where the ranks of a new group leave their addresses for each other.
#pragma once

#include "troupe/core/error.hpp"

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace troupe::collectives {

/// Values by key, the same for all ranks. Called from threads that may block.
class KeyValueStore {
public:
  virtual ~KeyValueStore() = default;
  virtual Status put(const std::string& key, std::vector<char> value) = 0;
  /// The key's value, once somebody has put it. Errors: network, when that takes too long; why
  /// nobody will ever put it.
  virtual Result<std::vector<char>> wait(const std::string& key,
                                         std::chrono::milliseconds timeout) = 0;
};

/// For ranks of one process.
class MemoryStore final : public KeyValueStore {
public:
  Status put(const std::string& key, std::vector<char> value) override;
  Result<std::vector<char>> wait(const std::string& key,
                                 std::chrono::milliseconds timeout) override;

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, std::vector<char>> values_;
};

} // namespace troupe::collectives
