/// Measures the peak rate of the processors: a program knows neither their clock nor how many
/// operations they start per cycle.
#pragma once

#include "core/graph/tensor.hpp"

#include <atomic>
#include <functional>
#include <mutex>
#include <utility>

namespace troupe::cpu {

/// Returns multiplications and additions per second of products of a type (f32 or bf16) on `cores`
/// cores, or on all that this process may use. One thread measures each core: the fastest of some
/// hundred bursts, so that other programs change it little. Blocks for some 10 ms; longer if cores
/// are shared.
double measure_peak(DType type, int cores);

/// Keeps the largest of several measurements: none can exceed the processors' peak, but each can
/// fall short of it. Thread-safe.
class PeakMeter {
public:
  explicit PeakMeter(std::function<double()> measure) : measure_{std::move(measure)} {}

  /// The first call measures, and blocks for that time.
  double largest();
  /// Measures again and returns the largest so far. Blocks.
  double measure();

private:
  std::function<double()> measure_;
  std::mutex measuring_;
  std::atomic<double> largest_ = 0;
};

} // namespace troupe::cpu
