/// STORE: where the ranks of a new group leave their addresses for each other. One per generation,
/// on the leader: what a library calls a rendezvous server is an exchange of messages here.
#pragma once

#include "../interfaces.hpp"

#include "troupe/collectives/gloo/store.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace troupe::actors {

class StoreState {
public:
  static inline const char* name = "store";

  explicit StoreState(store_actor::pointer self) : self_{self} {}
  store_actor::behavior_type make_behavior();

private:
  using Promise = caf::typed_response_promise<caf::byte_buffer>;

  void put(const std::string& key, caf::byte_buffer value);
  caf::result<caf::byte_buffer> get(const std::string& key);
  void fail(const Error& error);

  store_actor::pointer self_;
  std::map<std::string, caf::byte_buffer> values_;
  std::multimap<std::string, Promise> waiting_;
  std::optional<caf::error> failed_; ///< somebody will never come
};

/// The actor as the libraries want to see it: calls block.
class MessageStore final : public collectives::KeyValueStore {
public:
  MessageStore(caf::actor_system& system, store_actor store)
      : system_{system}, store_{std::move(store)} {}
  Status put(const std::string& key, std::vector<char> value) override;
  Result<std::vector<char>> wait(const std::string& key,
                                 std::chrono::milliseconds timeout) override;

private:
  caf::actor_system& system_;
  store_actor store_;
};

} // namespace troupe::actors
