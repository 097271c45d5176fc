// Tests that a folded graph gives the results of the original graph, on the scalar ops and on the
// fast ones.
#include "nn/builder.hpp"
#include "nn/models/models.hpp"
#include "nn/passes/fold_batch_norm.hpp"
#include "nn/passes/fuse.hpp"
#include "nn/validate.hpp"
#include "tests/nn/engine_runner.hpp"
#include "tests/nn/graph_runner.hpp"
#include "tests/support/initial_values.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <algorithm>
#include <map>

using namespace troupe;
using namespace troupe::nn;
using namespace troupe::nn::test;

namespace {

using NamedValues = std::map<std::string, std::vector<float>>;

Graph evaluated(const std::string& name, std::int64_t batch, std::int64_t size) {
  ModelConfig config;
  config.name = name;
  config.hidden = {6};
  const auto graph =
      build_model(config, {.input = image_input(size), .batch = batch, .training = false});
  REQUIRE(graph.has_value());
  return *graph;
}

/// Returns initial parameters, with statistics, scales and shifts of batch norms changed from their
/// defaults.
NamedValues trained(const Graph& graph) {
  NamedValues values;
  const auto initial = initial_values(graph, 3);
  REQUIRE(initial.has_value());
  for (const auto& tensor : *initial) {
    auto& mine = values[tensor.name] = tensor.values;
    if (tensor.shape.rank() > 1)
      continue;
    const auto shake = noise(mine.size(), stream_of(tensor.name));
    for (std::size_t i = 0; i < mine.size(); ++i)
      mine[i] += 0.5f * shake[i]; // variances stay positive
  }
  return values;
}

NamedValues folded_values(NamedValues values, const std::vector<BatchNormFolding>& foldings) {
  for (const auto& f : foldings) {
    f.fold_weight(values.at(f.weight), values.at(f.scale), values.at(f.variance));
    f.fold_bias(values.at(f.shift), values.at(f.scale), values.at(f.mean), values.at(f.variance));
  }
  return values;
}

std::vector<float> logits_of(const Graph& graph, const NamedValues& values) {
  GraphRunner runner{graph};
  runner.fill();
  for (const auto& [name, mine] : values)
    if (runner.has(name))
      runner.set(name, mine);
  runner.run();
  return runner.get("logits");
}

std::vector<float> engine_logits(const PreparedModel& model, Engine engine,
                                 const NamedValues& values, Precision precision) {
  EngineRunner runner{model.graph, engine, model.memory, nullptr, precision};
  runner.fill([&](const std::string& name, const Shape&) { return values.at(name); });
  const auto images = model.graph[*model.graph.find("images")].shape;
  runner.set_batch(noise(static_cast<std::size_t>(images.elements()), 5),
                   std::vector<std::int32_t>(static_cast<std::size_t>(images[0]), 1));
  REQUIRE(runner.run(false).has_value());
  return runner.tensor("logits", static_cast<std::size_t>(images[0]) * 10);
}

PreparedModel ready_to_predict(const Graph& graph, Precision precision, bool fold) {
  PassOptions options{.fuse = FusePatterns::all(), .precision = precision};
  options.fuse.convolution_bias = fold;
  options.fold_batch_norm = fold;
  options.memory.keep = {"logits"};
  auto made = run_passes(graph, PassMode::evaluation, options);
  REQUIRE(made.has_value());
  return *std::move(made);
}

} // namespace

TEST_CASE("all batch norms of a residual network are folded, with the same logits", "[long]") {
  const auto* const name = GENERATE("resnet18", "resnet20", "resnet50");
  const auto plain = evaluated(name, 2, 16);
  for (const auto& patterns : {FusePatterns::none(), FusePatterns::all()}) {
    const auto graph = fuse(plain, patterns);
    const auto folded = fold_batch_norm(graph);
    REQUIRE(validate(folded.graph).has_value());
    CHECK(std::ssize(folded.foldings) == count(plain, Op::conv2d));
    CHECK(count(folded.graph, Op::batch_norm) == 0);
    CHECK(folded.graph.with_role(Role::statistic).empty());
    const auto values = trained(plain);
    CHECK(relative_error(logits_of(folded.graph, folded_values(values, folded.foldings)),
                         logits_of(plain, values)) < 1e-4);
  }
}

TEST_CASE("a batch norm is folded only into a convolution without other readers") {
  const auto graph_of = [](bool training, bool read_twice) {
    GraphBuilder b;
    b.begin_unit("all");
    const auto x = b.input("images", {2, 4, 4, 3});
    const auto labels = b.target("labels", {2}, DType::i32);
    const auto convolved = b.conv2d("conv", x, 3, {3, 1, 1});
    auto y = b.batch_norm("bn", convolved, training);
    if (read_twice)
      y = b.add("sum", y, convolved);
    b.softmax_cross_entropy("loss", b.linear("fc", b.flatten("flat", y), 3), labels, 0.0f);
    auto graph = std::move(b).finish();
    REQUIRE(graph.has_value());
    return *std::move(graph);
  };
  CHECK(fold_batch_norm(graph_of(false, false)).foldings.size() == 1);
  CHECK(fold_batch_norm(graph_of(false, false), {"conv"}).foldings.empty());
  CHECK(fold_batch_norm(graph_of(true, false)).foldings.empty());
  const auto twice = graph_of(false, true);
  CHECK(fold_batch_norm(twice).graph.to_string() == twice.to_string());
}

TEST_CASE("nothing is folded in training or if the device cannot run it") {
  const auto graph = evaluated("resnet20", 2, 16);
  PassOptions options{.fuse = FusePatterns::all(), .fold_batch_norm = true};
  CHECK(run_passes(graph, PassMode::evaluation, options)->foldings.empty());
  options.fuse.convolution_bias = true;
  CHECK(run_passes(graph, PassMode::evaluation, options)->foldings.size() == 19);
  ModelConfig config;
  config.name = "resnet20";
  const auto training = build_model(config, {.input = image_input(16), .batch = 2});
  CHECK(run_passes(*training, PassMode::training, options)->foldings.empty());
}

TEST_CASE("folded convolutions on the host's fast kernels match the interpreter", "[long]") {
  struct Bound {
    Precision precision;
    double error;
  };
  // In 16 bits, the rounding of each activation adds up over the layers.
  const auto [precision, bound] =
      GENERATE(Bound{Precision::fp32, 1e-4}, Bound{Precision::amp_bf16, 0.15},
               Bound{Precision::amp_fp16, 0.02});
  // A batch of one slice per image, and a batch that no number of threads divides.
  const auto batch = GENERATE(1, 4);
  const auto* const name = GENERATE("resnet18", "resnet50");
  const auto graph = evaluated(name, batch, 16);
  const auto folded = ready_to_predict(graph, precision, true);
  CHECK(count(folded.graph, Op::batch_norm) == 0);
  CHECK(count(folded.graph, Op::relu) == 0);
  const auto values = folded_values(trained(graph), folded.foldings);
  const auto fast = engine_logits(folded, Engine::fastest, values, precision);
  const auto reference = engine_logits(folded, Engine::interpreter, values, precision);
  CHECK(relative_error(fast, reference) < bound);
  const auto plain = ready_to_predict(graph, precision, false);
  CHECK(relative_error(fast, engine_logits(plain, Engine::fastest, trained(graph), precision)) <
        bound);
}
