// Tests which tensors a timed step of the host reports: those that it moves, when slices of several
// nodes are computed together.
#include "core/device/executable.hpp"
#include "cpu/host_device.hpp"
#include "nn/builder.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <vector>

using namespace troupe;

namespace {

/// Returns the times of a forward pass, in f32 with parameters of zero.
std::vector<StepTime> time_forward(const Graph& graph) {
  const auto device = cpu::make_host_device(0, 2);
  const auto stream = device->create_stream({.threads = 2});
  const auto executable = device->compile(graph, {.threads = 2});
  REQUIRE(executable);
  std::vector<float> parameters((*executable)->layout().unit_elements.at(0));
  (*executable)->bind(0, parameters.data(), nullptr);
  (*executable)->refresh_all(*stream);
  const std::vector<float> images(
      static_cast<std::size_t>(graph[graph.with_role(Role::input).front()].shape.elements()));
  REQUIRE((*executable)->set_batch(at_addresses((*executable)->batch(), {images.data()})));
  auto times = (*executable)->time_steps(*stream);
  REQUIRE(times);
  CHECK(times->graph->nodes.size() == graph.nodes.size());
  return std::move(times->steps);
}

/// Returns the step of an op. Requires that there is one.
const StepTime& step_of(const std::vector<StepTime>& steps, const Graph& graph, Op op) {
  const auto found = std::ranges::find_if(
      steps, [&](const StepTime& step) { return step.node && graph.nodes[*step.node].op == op; });
  REQUIRE(found != steps.end());
  return *found;
}

} // namespace

TEST_CASE("an addition that is fused with a convolution moves its tensors in the convolution") {
  nn::GraphBuilder b;
  b.begin_unit("all");
  const auto x = b.input("images", {4, 8, 8, 16});
  const auto y = b.conv2d("conv", x, 16, {1, 1, 0});
  const auto sum = b.add("sum", y, x);
  const auto graph = std::move(b).finish();
  REQUIRE(graph);
  const auto steps = time_forward(*graph);
  const auto& convolution = step_of(steps, *graph, Op::conv2d);
  const auto& addition = step_of(steps, *graph, Op::add);
  const auto weight = graph->nodes[*convolution.node].inputs[1];
  CHECK(convolution.tensors == std::vector<TensorId>{x, weight, y, sum});
  CHECK(addition.tensors == std::vector<TensorId>{});
}

TEST_CASE("an op that another one does not consume moves the tensors of its node") {
  nn::GraphBuilder b;
  b.begin_unit("all");
  const auto x = b.input("images", {4, 8, 8, 16});
  b.relu("relu", x);
  const auto graph = std::move(b).finish();
  REQUIRE(graph);
  const auto steps = time_forward(*graph);
  REQUIRE(steps.size() == 1);
  CHECK(steps.front().node == 0);
  CHECK_FALSE(steps.front().tensors);
}

TEST_CASE("the interpreter does not time its steps") {
  nn::GraphBuilder b;
  b.begin_unit("all");
  b.relu("relu", b.input("images", {1, 2, 2, 3}));
  const auto graph = std::move(b).finish();
  REQUIRE(graph);
  const auto device = cpu::make_host_device(0, 1);
  const auto stream = device->create_stream({});
  const auto executable = device->compile(*graph, {.engine = Engine::interpreter});
  REQUIRE(executable);
  const auto times = (*executable)->time_steps(*stream);
  REQUIRE_FALSE(times);
  CHECK(times.error().code == Errc::unsupported);
}
