// Tests features of CUDA streams only: graphs, page-locked memory, sticky launch errors.
#include "core/fail.hpp"
#include "gpu/cuda_graph.hpp"
#include "tests/gpu/reference.hpp"

#include <catch2/catch_test_macros.hpp>

#include <cstdint>
#include <cstring>

using namespace troupe;
using namespace troupe::gpu;
using namespace troupe::testing;

TEST_CASE_METHOD(GpuFixture, "a captured step runs once per launch") {
  auto* const values = floats({1, 2, 3});
  REQUIRE(CudaGraph::begin_capture(stream()));
  REQUIRE(stream().capturing());
  device().add(stream(), values, values, 3);
  device().add(stream(), values, values, 3);
  auto graph = CudaGraph::end_capture(stream());
  REQUIRE(graph);
  REQUIRE_FALSE(stream().capturing());
  REQUIRE(download(values, 3) == Floats{1, 2, 3});
  graph->launch(stream());
  graph->launch(stream());
  REQUIRE(download(values, 3) == Floats{16, 32, 48});
}

TEST_CASE_METHOD(GpuFixture, "a second stream joins a capture through events") {
  const auto other = device().create_stream({"other"});
  auto *const values = floats({1, 2}), *const ones = floats({1, 1});
  REQUIRE(CudaGraph::begin_capture(stream()));
  other->wait(stream().record());
  device().add(*other, values, values, 2);
  stream().wait(other->record());
  device().add(stream(), values, ones, 2);
  auto graph = CudaGraph::end_capture(stream());
  REQUIRE(graph);
  graph->launch(stream());
  REQUIRE(download(values, 2) == Floats{3, 5}); // wrong in any other order
}

TEST_CASE_METHOD(GpuFixture, "an operation that cannot be captured is an error of the stream") {
  Status outcome;
  REQUIRE(CudaGraph::begin_capture(stream()));
  stream().on_complete([&](Status status) { outcome = std::move(status); });
  const auto graph = CudaGraph::end_capture(stream());
  REQUIRE_FALSE(graph);
  REQUIRE(graph.error().message.find("no callbacks") != std::string::npos);
  REQUIRE_FALSE(stream().synchronize());
  REQUIRE_FALSE(outcome);
}

TEST_CASE_METHOD(GpuFixture,
                 "a stream keeps its first failure, skips later work and reports it to callbacks") {
  const auto failing = device().create_stream({"failing"}), behind = device().create_stream({});
  auto* const values = floats({1});
  cuda_stream(*failing).enqueue(
      "first", [](cudaStream_t) -> Status { return fail(Errc::numeric, "first"); });
  device().add(*failing, values, values, 1);
  Status outcome;
  failing->on_complete([&](Status status) { outcome = std::move(status); });
  behind->wait(failing->record());
  device().add(*behind, values, values, 1);
  REQUIRE_FALSE(failing->synchronize());
  REQUIRE_FALSE(behind->synchronize());
  REQUIRE_FALSE(outcome);
  REQUIRE(outcome.error().message == "first");
  REQUIRE(download(values, 1) == Floats{1});
}

TEST_CASE_METHOD(GpuFixture, "page-locked memory is host memory and is not counted") {
  const auto before = device().memory().total;
  const auto pinned = device().allocate_pinned(1 << 20).value();
  REQUIRE(device().memory().total == before);
  REQUIRE(pinned->data()[0] == std::byte{0});
  std::memset(pinned->data(), 7, pinned->bytes());
  const auto memory = device().allocate(1 << 20, MemoryKind::data).value();
  REQUIRE(reinterpret_cast<std::uintptr_t>(memory->data()) % 256 == 0);
  device().copy(stream(), memory->data(), pinned->data(), 1 << 20);
  REQUIRE(stream().synchronize());
}

TEST_CASE_METHOD(GpuFixture, "an urgent stream is created, and the device describes itself") {
  StreamOptions options;
  options.urgent = true;
  const auto urgent = device().create_stream(options);
  REQUIRE(urgent->synchronize());
  CHECK_FALSE(device().info().on_host);
  CHECK(device().info().name.find("cuda:0 (") == 0);
  CHECK(device().info().memory_bytes > 0);
  CHECK_FALSE(make_cuda_device(1 << 20));
}
