/// Loops of independent multiplications and additions on registers only: they reach a core's peak
/// rate.
#pragma once

#include "core/graph/tensor.hpp"

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace troupe::cpu {

struct Burst {
  std::string_view name; ///< for example "avx2"
  void (*run)(std::int64_t rounds);
  double operations = 0;   ///< multiplications and additions of one round
  std::int64_t rounds = 0; ///< that take about 60 µs on a core of 3 GHz
};

/// Returns the bursts that this processor can run, within the limit (isa_limit), for products of a
/// type: f32, or bf16 if it has instructions for it.
std::vector<Burst> bursts_of(DType type);

/// Runs a burst and returns the seconds that it took.
using TimedRun = std::function<double(const Burst& burst)>;
double timed_run(const Burst& burst);

/// Returns the operations per second of the fastest of `tries` bursts on the calling thread. A
/// burst is shorter than a time slice, so some tries run undisturbed whatever else the machine
/// does.
double fastest_rate(const Burst& burst, int tries, const TimedRun& run = timed_run);

} // namespace troupe::cpu
