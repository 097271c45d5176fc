#include "actors/run_threads.hpp"

#include "training/platforms/platforms.hpp"

namespace troupe::actors {

int threads_of_run(const Config& config) {
  constexpr int streams = 5, of_process = 20;
  const auto replica_group = training::threads_per_worker(config.devices);
  const auto of_worker = (config.parallel.offloads() ? 2 : 1) * replica_group + streams;
  return static_cast<int>(config.devices.count * of_worker + config.data.loader_threads) +
         of_process;
}

} // namespace troupe::actors
