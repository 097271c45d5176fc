/// Measured peak rate of the processors: neither their clock nor how many operations they begin
/// in a cycle is known to a program.
#pragma once

#include "core/graph/tensor.hpp"

#include <atomic>
#include <filesystem>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

namespace troupe::cpu {

/// Picks one processor of each core: hyperthreads share the core's multipliers.
/// `topology`: the system's folder of processors.
std::vector<int> one_of_each_core(const std::vector<int>& processors,
                                  const std::filesystem::path& topology);

/// Multiplications and additions a second of products of a type (f32 or bf16) on so many cores, or
/// on all that this process may use. Each core is measured by a thread of its own: the fastest of
/// some hundred bursts, so that other programs change it little. Blocks for some 10 ms; longer
/// where cores are shared.
double measure_peak(DType type, int cores);

/// Keeps the largest of several measurements: none can exceed what the processors do, and each can
/// fall short of it. Any thread.
class PeakMeter {
public:
  explicit PeakMeter(std::function<double()> measure) : measure_{std::move(measure)} {}

  /// The first call measures, and blocks as long.
  double largest();
  /// Measures again and returns the largest so far. Blocks.
  double measure();

private:
  std::function<double()> measure_;
  std::mutex measuring_;
  std::atomic<double> largest_ = 0;
};

} // namespace troupe::cpu
