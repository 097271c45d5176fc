/// Where the ranks of one process meet: a barrier that checks that all came for the same operation,
/// and that gives up after a timeout or when somebody aborts.
#pragma once

#include "troupe/core/error.hpp"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

namespace troupe::collectives {

/// What a rank brings to a meeting. All but `values` must be equal on all ranks.
struct Operation {
  const char* name;
  std::int64_t sequence;
  std::size_t elements;
  float* values;
};

class Rendezvous {
public:
  Rendezvous(int world_size, std::chrono::milliseconds timeout)
      : timeout_{timeout}, operations_(static_cast<std::size_t>(world_size)),
        present_(static_cast<std::size_t>(world_size), false) {}

  int world_size() const { return static_cast<int>(operations_.size()); }

  /// Blocks until every rank has arrived with the same operation; gives the buffers by rank. They
  /// stay published until the next meeting.
  Result<std::vector<float*>> meet(int rank, const Operation& operation);
  void abort(const Error& reason);

private:
  Status check_same(int rank, const Operation& operation) const;
  std::string missing_ranks() const;

  std::chrono::milliseconds timeout_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Operation> operations_;
  std::vector<bool> present_;
  int arrived_ = 0;
  std::uint64_t meeting_ = 0;
  std::vector<float*> published_;
  std::optional<Error> aborted_;
};

} // namespace troupe::collectives
