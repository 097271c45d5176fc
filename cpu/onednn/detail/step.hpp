/// One node of the graph, lowered.
#pragma once

#include "core/device/placement.hpp"

#include <cstddef>
#include <span>
#include <string>

namespace troupe::cpu {

/// Work of one node (or of several that were fused), on the stream's thread and its team. What
/// oneDNN throws becomes an error at the stream.
class Step {
public:
  virtual ~Step() = default;
  virtual Status run(const Frame& frame) = 0;
  /// The sums of all ranks that run() needs, in memory that stays; empty for most steps. Where
  /// ranks can be summed over, reduce() is called first and leaves this rank's sums here; all
  /// ranks' have replaced them when run() is called.
  virtual std::span<double> rank_sums() { return {}; }
  virtual void reduce(const Frame&) {}
  virtual std::size_t scratch_bytes() const { return 0; }
  /// Whether run() calls primitives of the library that divide their work among OpenMP's threads.
  virtual bool by_library_threads() const { return false; }
  /// For profiles: the op; and how many floating point operations or bytes one run takes.
  std::string name, detail;
  double operations = 0, bytes = 0;
};

/// Sizes in scratch memory are rounded up, so that every part starts aligned.
constexpr std::size_t aligned(std::size_t bytes) {
  return (bytes + 63) / 64 * 64;
}

} // namespace troupe::cpu
