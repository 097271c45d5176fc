/// What every backend of the communicator must do: each program that compiles these tests brings
/// its backends.
#pragma once

#include "collectives/communicator.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace troupe::testing {

using Communicators = std::vector<std::unique_ptr<collectives::Communicator>>;
/// Of a group's ranks: which of a backend's devices each has.
using Places = std::vector<int>;

struct Backend {
  std::string name;
  /// A new group, by rank.
  std::function<Communicators(const Places& places, std::chrono::milliseconds timeout)> connect;
  std::function<std::shared_ptr<Device>(int place)> device;
  int most_ranks = 8; ///< and places
  /// Sums are as if added in the order of ranks, in f32 for narrow types.
  bool in_rank_order = true;
  /// A rank that calls something else is found, at once.
  bool compares_calls = true;
  /// A rank that is gone, or was aborted, is found at once, not when the time is up.
  bool notices_leaving = true;
};

/// Those of this machine; empty with a reason in `why` where there are none.
std::vector<Backend> backends(std::string& why);

} // namespace troupe::testing
