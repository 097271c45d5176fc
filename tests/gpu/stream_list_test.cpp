// Live streams that were given one hardware queue (gpu/stream_list.hpp).
#include "truth.hpp"

#include "troupe/gpu/stream_list.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <string>
#include <vector>

using namespace troupe;
using namespace troupe::gpu;
using namespace troupe::tests;

namespace {

/// As measurements do: made and ended while another stream lives.
std::unique_ptr<Stream> stream_that_shares(CudaDevice& device, CudaStream& with) {
  for (int i = 0; i < 64; ++i)
    if (auto made = device.create_stream({.name = "test"}); share_queue(with, cuda_stream(*made)))
      return made;
  return nullptr;
}

} // namespace

TEST_CASE_METHOD(GpuFixture, "streams that share a hardware queue are separated") {
  const auto other = stream_that_shares(device(), stream());
  if (!other)
    return; // this driver gives queues back
  std::vector<std::string> said;
  device().peers().streams->separate([&](const std::string& line) { said.push_back(line); });
  CHECK_FALSE(share_queue(stream(), cuda_stream(*other)));
  CHECK(std::ranges::any_of(said, [](const std::string& line) {
    return line.find("shared a hardware queue") != std::string::npos;
  }));
  auto* const values = floats({1, 2}); // both go on
  device().add(*other, values, values, 2);
  REQUIRE(other->synchronize());
  CHECK(download(values, 2) == Floats{2, 4});
}

TEST_CASE_METHOD(GpuFixture, "streams of workers that share a GPU are separated, too") {
  const auto second = make_cuda_device(0, {}, device().peers()).value();
  const auto other = stream_that_shares(*second, stream());
  if (!other)
    return;
  device().peers().streams->separate({});
  CHECK_FALSE(share_queue(stream(), cuda_stream(*other)));
}
