// Compares the types of our graphs with the types in which PyTorch's autocast runs (tests/golden).
#include "nn/compile.hpp"
#include "nn/modules.hpp"
#include "nn/ops/record.hpp"
#include "tests/nn/golden_recipe.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <map>

using namespace troupe;
using namespace troupe::nn;
using namespace troupe::nn::test;

namespace {

/// Returns the result types of a function for f32 inputs, for inputs of the lower precision, and
/// for one of each.
std::vector<std::string> results(AutocastRule rule, const std::string& lower) {
  switch (rule) {
  case AutocastRule::lower_precision:
    return {lower, lower};
  case AutocastRule::fp32:
    return {"f32", "f32"};
  case AutocastRule::widest:
    return {"f32", lower, "f32"};
  default:
    return {"f32", lower};
  }
}

nn::PreparedModel prepare(const nlohmann::json& run) {
  ModelConfig config;
  config.name = run.at("model");
  config.stem = config.name == "resnet50" ? Stem::imagenet : Stem::cifar;
  config.hidden = {24, 16};
  const auto forward =
      build_model(config, {.input = image_input(config.name == "resnet50" ? 64 : 32), .batch = 4});
  REQUIRE(forward.has_value());
  auto prepared =
      run_passes(*forward, PassMode::training,
                 {.fuse = {.matmul_bias = true},
                  .precision = run.at("type") == "f16" ? Precision::amp_fp16 : Precision::amp_bf16,
                  .autocast_off = run.at("autocast_off")});
  INFO((prepared ? "" : prepared.error().to_string()));
  REQUIRE(prepared.has_value());
  return std::move(*prepared);
}

/// Types by module (with parameters) and op, in the order of the ops: "f32 bf16". PyTorch computes
/// a block's shortcut after its residual, we before.
using Types = std::map<std::string, std::string>;

void add(Types& types, const std::string& module, const std::string& op, const std::string& type) {
  auto& list = types[module + " " + op];
  list += (list.empty() ? "" : " ") + type;
}

/// Returns PyTorch's types without the part of cross-entropy that its CUDA backend leaves in f16:
/// its documentation lists all of cross-entropy in f32, as in our graphs.
Types expected_types(const nlohmann::json& run) {
  Types types;
  for (const auto& op : run.at("forward"))
    if (op[1] != "log_softmax")
      add(types, op[0], op[1], op[2]);
  return types;
}

Types our_types(const Graph& graph) {
  Types types;
  for (const auto& node : graph.nodes) {
    const bool computes =
        node.op != Op::cast && node.op != Op::flatten && node.op != Op::count_correct;
    if (node.phase == Phase::backward || !computes)
      continue;
    const bool has_parameters = std::ranges::any_of(
        node.inputs, [&](TensorId id) { return graph[id].role == Role::parameter; });
    add(types, has_parameters ? module_of(graph, node) : "",
        std::string{node.op == Op::matmul ? "linear" : to_string(node.op)},
        std::string{to_string(graph[node.outputs[0]].dtype)});
  }
  return types;
}

/// Returns the type of the gradient that reaches each module with parameters.
Types our_gradients(const Graph& graph) {
  Types types;
  for (const auto& node : graph.nodes)
    for (const auto id : node.outputs)
      if (graph[id].role == Role::gradient) {
        const auto& parameter = graph[graph[id].of].name;
        types[parameter.substr(0, parameter.rfind('.'))] = to_string(graph[node.inputs[0]].dtype);
      }
  return types;
}

} // namespace

TEST_CASE("autocast lists match PyTorch's for CUDA, and for the CPU except for row norms") {
  const auto rules = read_golden("autocast.json").at("rules");
  for (const auto& [device, lower] : {std::pair{"cuda", "f16"}, std::pair{"cpu", "bf16"}})
    for (const auto op : all_ops) {
      const auto& autocast = record_of(op).autocast;
      if (!autocast || autocast->rule == AutocastRule::given || autocast->pytorch.empty())
        continue; // ops that passes make, or that PyTorch's users write themselves
      INFO(device << ", " << to_string(op));
      const bool differs =
          lower == std::string{"bf16"} && (op == Op::layer_norm || op == Op::rms_norm);
      CHECK(rules.at(device).at(std::string{autocast->pytorch}) ==
            results(differs ? AutocastRule::follow : autocast->rule, lower));
    }
}

TEST_CASE("every op runs in the type of PyTorch's autocast") {
  const auto runs = read_golden("autocast.json").at("runs");
  CHECK(runs.size() == 8);
  for (const auto& run : runs) {
    INFO(run.at("device") << ", " << run.at("model") << ", off: " << run.at("autocast_off"));
    const auto ours = our_types(prepare(run).graph), expected = expected_types(run);
    CHECK(ours.size() == expected.size());
    for (const auto& [place, types] : expected) {
      INFO(place);
      CHECK(ours.contains(place));
      CHECK((ours.contains(place) ? ours.at(place) : "") == types);
    }
  }
}

TEST_CASE("gradients have the types of PyTorch's gradients") {
  const auto golden = read_golden("autocast.json");
  for (const auto& run : golden.at("runs")) {
    if (run.at("device") != "cpu")
      continue; // the types of gradients were only recorded on the CPU
    INFO(run.at("model") << ", off: " << run.at("autocast_off"));
    const auto graph = prepare(run).graph;
    const auto ours = our_gradients(graph);
    CHECK(ours.size() == run.at("gradients").size());
    for (const auto& [module, type] : ours) {
      INFO(module);
      CHECK(type == run.at("gradients").at(module).get<std::string>());
    }
    for (const auto id : graph.with_role(Role::gradient))
      CHECK(graph[id].dtype == DType::f32);
  }
}
