#include "actors/run_threads.hpp"

#include "engine/platforms/platforms.hpp"

namespace troupe::actors {

int threads_of_run(const Config& config) {
  constexpr int streams = 5, of_process = 20;
  const auto team = engine::threads_per_worker(config.devices);
  const auto of_worker = (config.parallel.offloads() ? 2 : 1) * team + streams;
  return static_cast<int>(config.devices.count * of_worker + config.data.loader_threads) +
         of_process;
}

} // namespace troupe::actors
