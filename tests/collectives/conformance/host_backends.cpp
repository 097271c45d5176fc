#include "collectives/shared_device/shared_communicator.hpp"
#include "cpu/host_device.hpp"
#include "tests/collectives/conformance/backend.hpp"
#include "tests/support/loopback.hpp"

#include <catch2/catch_test_macros.hpp>

namespace troupe::testing {

namespace {

std::shared_ptr<Device> host_device(int rank) {
  return cpu::make_host_device(rank, 1);
}

Communicators connect_in_process(const Places& places, std::chrono::milliseconds timeout) {
  return collectives::make_shared_group(static_cast<int>(places.size()), timeout);
}

Communicators connect_by_tcp(const Places& places, std::chrono::milliseconds timeout) {
  Communicators group;
  for (auto& connected : Loopback{static_cast<int>(places.size())}.connect(timeout)) {
    INFO((connected ? "" : connected.error().to_string()));
    REQUIRE(connected);
    group.push_back(std::move(*connected));
  }
  return group;
}

} // namespace

std::vector<Backend> backends(std::string&) {
  return {
      {.name = "shared_device", .connect = connect_in_process, .device = host_device},
      {.name = "tcp", .connect = connect_by_tcp, .device = host_device, .in_rank_order = false}};
}

} // namespace troupe::testing
