// Tests that CUPTI records the device's work.
#include "bench/gpu/kernel_trace.hpp"
#include "gpu/cuda_graph.hpp"
#include "tests/gpu/reference.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>

using namespace troupe::gpu;
using namespace troupe::testing;
using troupe::bench::KernelSpan;
using troupe::bench::KernelTrace;

TEST_CASE_METHOD(GpuFixture, "a trace contains every kernel, those of CUDA graphs separately") {
  auto trace = KernelTrace::begin();
  if (!trace)
    SKIP(trace.error().to_string());
  auto* const values = floats({1, 2, 3});
  REQUIRE(CudaGraph::begin_capture(stream()));
  device().add(stream(), values, values, 3);
  device().add(stream(), values, values, 3);
  auto graph = CudaGraph::end_capture(stream());
  REQUIRE(graph);
  REQUIRE(stream().synchronize());
  REQUIRE((*trace)->finish()); // earlier spans
  graph->launch(stream());
  graph->launch(stream());
  device().add(stream(), values, values, 3);
  REQUIRE(stream().synchronize());
  const auto spans = (*trace)->finish();
  REQUIRE(spans);
  CHECK(spans->size() == 5);
  CHECK(std::ranges::all_of(*spans, [](const KernelSpan& span) { return span.begin < span.end; }));
}
