#include "collectives/communicator.hpp"
#include "cpu/host_device.hpp"

#include <catch2/catch_test_macros.hpp>

#include <vector>

using namespace troupe;
using namespace troupe::collectives;

TEST_CASE("a single rank receives its own values and sends nothing") {
  const std::shared_ptr<Device> device = cpu::make_host_device(0, 1);
  const auto stream = device->create_stream({});
  const auto alone = make_single_rank_communicator(device);
  CHECK(alone->rank() == 0);
  CHECK(alone->world_size() == 1);
  std::vector<float> mine = {1, 2, 3}, gathered(3), scattered(3), collected(3);
  alone->all_reduce(*stream, {mine.data(), mine.size()});
  alone->broadcast(*stream, {mine.data(), mine.size()}, 0);
  alone->all_gather(*stream, {mine.data(), mine.size()}, gathered.data());
  alone->all_gather(*stream, {mine.data(), mine.size()}, mine.data()); // in place
  alone->reduce_scatter(*stream, mine.data(), {scattered.data(), scattered.size()});
  alone->gather(*stream, {mine.data(), mine.size()}, collected.data(), 0);
  alone->barrier(*stream);
  REQUIRE(stream->synchronize());
  const std::vector<float> expected = {1, 2, 3};
  CHECK(mine == expected);
  CHECK(gathered == expected);
  CHECK(scattered == expected);
  CHECK(collected == expected);
  CHECK(alone->traffic() == 0);
}
