/// Threads that measure what cores do at the same time.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <vector>

namespace troupe::cpu {

/// Picks one processor of each core: hyperthreads share the core's units and caches. `topology`:
/// the system's folder of processors.
std::vector<int> one_of_each_core(const std::vector<int>& processors,
                                  const std::filesystem::path& topology);

/// Calls measure(index) at the same time on `cores` cores, or on all that this process may use if
/// they are fewer: on one thread for each core, which does not move. Returns the sum of the
/// results. If the system refuses threads, scales the sum of the others.
double sum_over_cores(int cores, const std::function<double(std::size_t index)>& measure);

/// Returns the number of cores that sum_over_cores uses.
std::size_t measured_cores(int cores);

} // namespace troupe::cpu
