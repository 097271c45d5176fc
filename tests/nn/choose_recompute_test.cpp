#include "nn/compile.hpp"
#include "nn/cost.hpp"
#include "nn/passes/recompute.hpp"
#include "tests/nn/fused_steps.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <algorithm>
#include <charconv>

using namespace troupe;
using namespace troupe::nn;
using Catch::Matchers::ContainsSubstring;
using Kind = RecomputeConfig::Kind;

namespace {

Result<PreparedModel> prepare(const std::string& name, const RecomputeConfig& recompute,
                              Precision precision = Precision::fp32, bool fused = false) {
  ModelConfig config;
  config.name = name;
  config.stem = Stem::imagenet;
  config.num_classes = 1000;
  const auto forward = build_model(config, {.input = image_input(224), .batch = 8});
  REQUIRE(forward.has_value());
  PassOptions options{
      .fuse = FusePatterns::all(), .precision = precision, .recompute = recompute, .memory = {}};
  options.memory.also_in_place.push_back(Op::batch_norm_backward);
  if (fused)
    options.fuse_statistics = test::without_ends; // block ends are never fused
  return run_passes(*forward, PassMode::training, options);
}

PreparedModel prepared(const std::string& name, const RecomputeConfig& recompute,
                       Precision precision = Precision::fp32, bool fused = false) {
  auto model = prepare(name, recompute, precision, fused);
  INFO((model ? "" : model.error().to_string()));
  REQUIRE(model.has_value());
  return std::move(*model);
}

/// Returns the units that recompute a tensor.
std::vector<std::string> units_with_clones(const Graph& graph) {
  std::vector<std::string> found;
  for (const auto& node : graph.nodes)
    if (const auto& unit = graph.units[static_cast<std::size_t>(node.unit)];
        graph[node.outputs[0]].name.ends_with(".again") && std::ranges::count(found, unit) == 0)
      found.push_back(unit);
  return found;
}

double ratio(const PreparedModel& model) {
  REQUIRE(model.recompute.has_value());
  return static_cast<double>(model.memory.arena_bytes) /
         static_cast<double>(model.recompute->arena_without);
}

} // namespace

TEST_CASE("recomputing blocks saves most of ResNet-50's activations") {
  for (const auto precision : {Precision::fp32, Precision::amp_bf16})
    for (const bool fused : {false, true}) {
      INFO(to_string(precision) << (fused ? ", fused" : ""));
      const auto plain = prepared("resnet50", {}, precision, fused);
      const auto model = prepared("resnet50", {.kind = Kind::block}, precision, fused);
      CHECK_FALSE(plain.recompute.has_value());
      CHECK(model.recompute->arena_without == plain.memory.arena_bytes);
      CHECK(ratio(model) < (fused ? 0.45 : 0.4));
      // Forward is a third of all operations.
      CHECK(model.recompute->operations_ratio > 0.1);
      CHECK(model.recompute->operations_ratio < 1.0 / 3);
      CHECK(model.recompute->operations_ratio ==
            cost_of(model.graph).operations / cost_of(plain.graph).operations - 1);
    }
}

TEST_CASE("tensors that are needed at once or save nothing are not recomputed") {
  const auto plain = prepared("resnet50", {}).graph;
  const Recomputation recomputation{plain};
  TensorSet all(plain.tensors.size());
  for (const auto id : recomputation.candidates())
    all[static_cast<std::size_t>(id)] = true;
  const auto whole = recompute(plain, all);
  PlanOptions memory;
  memory.also_in_place.push_back(Op::batch_norm_backward);
  const auto planned = plan_memory(whole, memory);
  REQUIRE(planned.has_value());
  const auto model = prepared("resnet50", {.kind = Kind::block});
  const auto least = static_cast<double>(planned->arena_bytes),
             most = static_cast<double>(model.recompute->arena_without);
  CHECK(static_cast<double>(model.memory.arena_bytes) <= least + (most - least) / 16);
  CHECK(cost_of(model.graph).operations < cost_of(whole).operations);
  CHECK(std::ranges::count(units_with_clones(whole), "head") == 1);
  CHECK(std::ranges::count(units_with_clones(model.graph), "head") == 0);
}

TEST_CASE("units are named fully or by a prefix of their parts") {
  const auto one = prepared("resnet50", {.kind = Kind::names, .names = {"layer2.0"}});
  CHECK(units_with_clones(one.graph) == std::vector<std::string>{"layer2.0"});
  const auto layer = prepared("resnet50", {.kind = Kind::names, .names = {"layer1", "stem"}});
  for (const auto& unit : units_with_clones(layer.graph))
    CHECK((unit == "stem" || unit.starts_with("layer1.")));
  CHECK(ratio(layer) < ratio(one));
}

TEST_CASE("an unknown unit is an error that names the nearest one") {
  const auto wrong = prepare("resnet18", {.kind = Kind::names, .names = {"layer1", "layr2"}});
  REQUIRE_FALSE(wrong.has_value());
  CHECK(wrong.error().code == Errc::invalid_input);
  CHECK_THAT(wrong.error().message, ContainsSubstring("\"layr2\"") &&
                                        ContainsSubstring("train.recompute") &&
                                        ContainsSubstring("layer2"));
  const auto half = prepare("resnet18", {.kind = Kind::names, .names = {"layer"}});
  CHECK_FALSE(half.has_value());
}

TEST_CASE("activations fit into the requested size with the least recomputation") {
  for (const auto* const name : {"resnet18", "resnet50", "resnet152"})
    for (const bool fused : {false, true}) {
      const auto full = prepared(name, {}, Precision::fp32, fused).memory.arena_bytes;
      double more = 0;
      for (const double part : {0.9, 0.8, 0.7, 0.6, 0.5}) {
        const auto size = static_cast<std::uint64_t>(part * static_cast<double>(full));
        const auto model =
            prepare(name, {.kind = Kind::fit, .fit_bytes = size}, Precision::fp32, fused);
        INFO(name << (fused ? ", fused, " : ", ") << part);
        if (!model) { // the first layers have most of ResNet-18's activations
          CHECK(std::string{name} == "resnet18");
          continue;
        }
        CHECK(model->memory.arena_bytes <= size);
        if (std::string{name} != "resnet18") // ResNet-18 has only a few large activations
          CHECK(static_cast<double>(model->memory.arena_bytes) > 0.95 * static_cast<double>(size));
        CHECK(model->recompute->operations_ratio >= more);
        more = model->recompute->operations_ratio;
      }
      CHECK(more < 0.15);
    }
}

TEST_CASE("a graph that already fits is unchanged") {
  const auto plain = prepared("resnet18", {});
  const auto model =
      prepared("resnet18", {.kind = Kind::fit, .fit_bytes = plain.memory.arena_bytes});
  CHECK(model.graph.to_string() == plain.graph.to_string());
  CHECK(model.recompute->operations_ratio == 0);
}

TEST_CASE("a size that is too small is an error that names the minimum, and the minimum fits") {
  for (const auto* const name : {"resnet18", "resnet50"}) {
    const auto wrong = prepare(name, {.kind = Kind::fit, .fit_bytes = 1 << 20});
    REQUIRE_FALSE(wrong.has_value());
    CHECK(wrong.error().code == Errc::invalid_input);
    const auto& message = wrong.error().message;
    INFO(message);
    const std::string before = "need at least ";
    const auto at = message.find(before);
    REQUIRE(at != std::string::npos);
    std::uint64_t least = 0;
    std::from_chars(message.data() + at + before.size(), message.data() + message.size(), least);
    REQUIRE(least > 0);
    const auto fits = prepare(name, {.kind = Kind::fit, .fit_bytes = least});
    REQUIRE(fits.has_value());
    CHECK(fits->memory.arena_bytes <= least);
    CHECK_FALSE(prepare(name, {.kind = Kind::fit, .fit_bytes = least - 64}).has_value());
    // The result is no larger than without a chosen size.
    CHECK(prepared(name, {.kind = Kind::block}).memory.arena_bytes >= least);
  }
}
