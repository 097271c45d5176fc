/// FETCHER: brings the leader's checkpoint to a node that lacks the file. Lives as long as that
/// takes.
#pragma once

#include "../interfaces.hpp"
#include "lost_nodes.hpp"

#include "troupe/core/config/cluster.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <string>

namespace troupe::actors {

struct FetcherSetup {
  membership_actor membership;
  std::int64_t bytes = 0; ///< of the checkpoint's pieces
  TimeoutsConfig timeouts = {};
  std::function<void(const std::string&)> say; ///< tells a person how far it is
};

/// Asks for a piece when one has come, so that no more than a few are on their way: what a slow
/// connection has taken delays the signs of life that come behind.
class FetcherState {
public:
  static inline const char* name = "fetcher";

  FetcherState(fetcher_actor::pointer self, FetcherSetup setup);
  fetcher_actor::behavior_type make_behavior();

private:
  using Clock = std::chrono::steady_clock;

  void ask();
  void take(std::int64_t offset, const std::string& piece);
  void say_progress();
  void await_others();
  void deliver();
  void fail(const Error& error);

  fetcher_actor::pointer self_;
  FetcherSetup setup_;
  LostNodes lost_;
  caf::typed_response_promise<CheckpointPtr> promise_;
  std::shared_ptr<std::byte[]> storage_;
  std::int64_t asked_ = 0, received_ = 0; ///< bytes
  Clock::time_point said_ = Clock::now();
};

} // namespace troupe::actors
