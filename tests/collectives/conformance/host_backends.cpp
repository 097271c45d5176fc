#include "backend.hpp"

#include "troupe/collectives/gloo/gloo_communicator.hpp"
#include "troupe/collectives/shared_device/shared_communicator.hpp"
#include "troupe/cpu/host_device.hpp"

#include <catch2/catch_test_macros.hpp>

#include <thread>

namespace troupe::tests {

namespace {

std::shared_ptr<Device> host_device(int rank) {
  return cpu::make_host_device(rank, 1);
}

Communicators connect_in_process(const Places& places, std::chrono::milliseconds timeout) {
  return collectives::make_shared_group(static_cast<int>(places.size()), timeout);
}

/// Over loopback; ranks find each other at the same time, so each on a thread of its own.
Communicators connect_by_gloo(const Places& places, std::chrono::milliseconds timeout) {
  const auto ranks = places.size();
  const auto world_size = static_cast<int>(ranks);
  collectives::MemoryStore store;
  std::vector<Result<std::unique_ptr<collectives::Communicator>>> results(ranks);
  std::vector<std::thread> threads;
  threads.reserve(ranks);
  for (int rank = 0; rank < world_size; ++rank)
    threads.emplace_back([&, rank] {
      results[static_cast<std::size_t>(rank)] = collectives::connect_gloo(
          {.rank = rank, .world_size = world_size, .group = "test", .timeout = timeout}, store);
    });
  for (auto& thread : threads)
    thread.join();
  Communicators group;
  for (auto& result : results) {
    INFO((result ? "" : result.error().to_string()));
    REQUIRE(result);
    group.push_back(std::move(*result));
  }
  return group;
}

} // namespace

std::vector<Backend> backends(std::string&) {
  return {{.name = "shared_device", .connect = connect_in_process, .device = host_device},
          {.name = "gloo",
           .connect = connect_by_gloo,
           .device = host_device,
           .in_rank_order = false,
           .comparison = Backend::Comparison::when_time_is_up}};
}

} // namespace troupe::tests
