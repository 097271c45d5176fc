/// Conformance tests of the communicator: every program that compiles them provides its backends.
#pragma once

#include "collectives/communicator.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace troupe::testing {

using Communicators = std::vector<std::unique_ptr<collectives::Communicator>>;
/// The index of each rank's device among the backend's devices.
using Places = std::vector<int>;

struct Backend {
  std::string name;
  /// Connects a new group; returns communicators by rank.
  std::function<Communicators(const Places& places, std::chrono::milliseconds timeout)> connect;
  std::function<std::shared_ptr<Device>(int place)> device;
  int most_ranks = 8; ///< most devices, too
  /// Sums equal those of an addition in rank order, in f32 for narrower types.
  bool in_rank_order = true;
  /// Detects at once that a rank calls another operation.
  bool compares_calls = true;
  /// Detects at once, not only at the timeout, that a rank has left or was aborted.
  bool notices_leaving = true;
};

/// Returns the backends of this machine. When there are none, returns an empty list and sets `why`.
std::vector<Backend> backends(std::string& why);

} // namespace troupe::testing
