/// One node of the graph, lowered.
#pragma once

#include "core/device/placement.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace troupe::cpu {

/// Work of one node (or of several fused nodes), on the stream's thread and its team. Exceptions of
/// oneDNN become errors of the stream.
class Step {
public:
  virtual ~Step() = default;
  virtual Status run(const Frame& frame) = 0;
  /// The sums over all ranks that run() needs, in permanent memory; empty for most steps. If sums
  /// over ranks exist, reduce() runs first and writes this rank's sums here; those of all ranks
  /// replace them before run().
  virtual std::span<double> rank_sums() { return {}; }
  virtual void reduce(const Frame&) {}
  virtual std::size_t scratch_bytes() const { return 0; }
  /// Whether run() calls primitives of the library that divide their work among OpenMP's threads.
  virtual bool by_library_threads() const { return false; }
  // For profiles.
  std::string name;
  std::size_t node_index = 0; ///< in the graph
  /// StepTime::tensors.
  std::optional<std::vector<TensorId>> tensors = {};
  double operations = 0, bytes = 0;
};

/// n / by, rounded up.
constexpr std::size_t divide_up(std::size_t n, std::size_t by) {
  return (n + by - 1) / by;
}

/// Rounds up sizes in scratch memory, so that every part is aligned.
constexpr std::size_t aligned(std::size_t bytes) {
  return divide_up(bytes, 64) * 64;
}

} // namespace troupe::cpu
