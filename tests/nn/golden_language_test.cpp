// Compares small models of Hugging Face's families with their float64 results
// (tests/golden/make_language_golden.py): logits, every parameter's gradient, and ten losses of SGD
// and of AdamW, without weight decay of one-dimensional parameters, in every precision; and one
// step of the original GPT-2.
//
// Tolerances are based on PyTorch's error, as in golden_recipe.hpp. The error of a single
// parameter's gradient may be ten times that of all gradients together; in 16 bits only the
// direction of a single gradient is compared.
#include "nn/models/models.hpp"
#include "nn/optimizer.hpp"
#include "tests/nn/engine_runner.hpp"
#include "tests/nn/golden_recipe.hpp"

#include <catch2/catch_test_macros.hpp>

#include <cmath>

using namespace troupe;
using namespace troupe::nn;
using namespace troupe::nn::test;

namespace {

/// The sizes of make_language_golden.py.
ModelConfig golden_model(const std::string& family) {
  if (family == "gpt2_124m")
    return {.name = "gpt2"};
  ModelConfig model{.name = family == "gpt2" ? "gpt2-mini" : "llama-mini", .width = 24};
  model.layers = 2;
  model.heads = family == "gpt2" ? 3 : 4;
  model.intermediate = family == "gpt2" ? 96 : 40;
  if (family == "llama")
    model.kv_heads = 2;
  else
    model.positions = 10;
  return model;
}

class LanguageRun {
public:
  LanguageRun(const std::string& family, Engine engine, Precision precision = Precision::fp32)
      : family_{family},
        golden_(read_golden(family + ".json")), engine_{engine}, precision_{precision},
        error_(golden_.at("pytorch_error").at(to_string(precision))) {
    const InputSpec input{.name = "tokens",
                          .sample = {golden_.at("sequence").get<std::int64_t>()},
                          .vocabulary = golden_.at("vocabulary")};
    const auto forward = build_model(
        golden_model(family), {.input = input, .batch = golden_.at("batch").get<std::int64_t>()});
    INFO((forward ? "" : forward.error().to_string()));
    REQUIRE(forward.has_value());
    auto ready = run_passes(*forward, PassMode::training,
                            {.precision = precision, .memory = {.keep = {last_norm()}}});
    INFO((ready ? "" : ready.error().to_string()));
    REQUIRE(ready.has_value());
    training_ = std::move(*ready);
  }

  void check_first_step() {
    const auto runner = begin();
    run(*runner);
    const auto all = logits(*runner);
    check("logits", distance(golden_samples(all), samples(golden_.at("logits"))),
          allowed("logits"));
    check_norm("norm of logits", all, golden_.at("logits"), allowed("logits"));
    const auto loss = golden_.at("loss").get<double>();
    check("loss", std::abs(double{runner->outputs()["loss"]} - loss),
          2 * (1 + loss) * allowed("logits"));
    check_gradients(*runner);
  }

  void check_ten_steps(const std::string& optimizer) {
    const auto runner = begin();
    const auto& given = golden_.at("optimizers").at(optimizer);
    const OptimizerConfig config{.name = choice_named<OptimizerKind>(optimizer).value(),
                                 .lr = given.at("lr"),
                                 .momentum = given.value("momentum", 0.0),
                                 .weight_decay = given.at("weight_decay")};
    const auto first = optimizer_arguments(config);
    const auto losses = golden_.at("losses").at(optimizer).get<std::vector<double>>();
    const auto pytorch =
        pytorch_factor(precision_) * error_.at("losses").at(optimizer).get<double>();
    for (std::size_t step = 0; step < losses.size(); ++step) {
      run(*runner);
      runner->update(at_step(first, static_cast<std::int64_t>(step), config.lr),
                     DecayScope::matrices);
      check(optimizer + ", loss of step " + std::to_string(step),
            std::abs(double{runner->outputs()["loss"]} - losses[step]),
            pytorch + rounding_slack(precision_) * losses[step]);
    }
  }

private:
  bool is_llama() const { return family_ == "llama"; }
  std::string last_norm() const { return is_llama() ? "model.norm" : "transformer.ln_f"; }
  std::string head() const { return is_llama() ? "lm_head.weight" : "transformer.wte.weight"; }

  std::unique_ptr<EngineRunner> begin() const {
    auto runner = std::make_unique<EngineRunner>(training_.graph, engine_, training_.memory,
                                                 nullptr, precision_);
    runner->fill(golden_parameter);
    const std::int64_t classes = golden_.at("vocabulary");
    const std::int64_t count =
        golden_.at("batch").get<std::int64_t>() * golden_.at("sequence").get<std::int64_t>();
    const auto tokens = golden_labels(count, classes);
    auto labels = tokens;
    for (auto& label : labels)
      label = static_cast<std::int32_t>((label * 5 + 1) % classes);
    labels[1] = -100;
    runner->set_tokens(tokens, labels);
    return runner;
  }

  static void run(EngineRunner& runner) {
    const auto done = runner.run(true);
    INFO((done ? "" : done.error().to_string()));
    REQUIRE(done.has_value());
  }

  void check_gradients(EngineRunner& runner) const {
    std::vector<float> all, all_expected;
    CHECK(golden_.at("gradients").size() == runner.executable().layout().parameters.size());
    for (const auto& [name, digest] : golden_.at("gradients").items()) {
      const auto gradient = runner.gradient(name);
      const auto found = golden_samples(gradient), expected = samples(digest);
      all.insert(all.end(), found.begin(), found.end());
      all_expected.insert(all_expected.end(), expected.begin(), expected.end());
      if (precision_ != Precision::fp32)
        continue;
      check(name, distance(found, expected), 10 * allowed("gradients"));
      check_norm("norm of " + name, gradient, digest, 10 * allowed("gradients"));
    }
    check("all gradients", distance(all, all_expected), allowed("gradients"));
  }

  /// Computes the logits, which the graph lacks: the last norm's rows times the head's weight.
  std::vector<float> logits(EngineRunner& runner) const {
    const auto weight = runner.parameter(head());
    const auto& shape = training_.graph[*training_.graph.find(last_norm())].shape;
    const auto width = static_cast<std::size_t>(shape[1]), classes = weight.size() / width;
    const auto x = runner.tensor(last_norm(), static_cast<std::size_t>(shape.elements()));
    std::vector<float> all;
    for (std::size_t row = 0; row < x.size() / width; ++row)
      for (std::size_t c = 0; c < classes; ++c) {
        double sum = 0;
        for (std::size_t i = 0; i < width; ++i)
          sum += double{x[row * width + i]} * double{weight[c * width + i]};
        all.push_back(static_cast<float>(sum));
      }
    return all;
  }

  static std::vector<float> samples(const nlohmann::json& digest) {
    return digest.at("samples").get<std::vector<float>>();
  }
  double allowed(const char* what) const {
    return pytorch_factor(precision_) * error_.at(what).get<double>() + rounding_slack(precision_);
  }
  static void check(const std::string& what, double found, double allowed) {
    INFO(what << ": " << found << ", allowed " << allowed);
    CHECK(found <= allowed);
  }

  static void check_norm(const std::string& what, const std::vector<float>& found,
                         const nlohmann::json& digest, double allowed) {
    double squares = 0;
    for (const float value : found)
      squares += double{value} * double{value};
    check(what, std::abs(std::sqrt(squares) / digest.at("l2").get<double>() - 1), allowed);
  }

  std::string family_;
  nlohmann::json golden_;
  Engine engine_;
  Precision precision_;
  nlohmann::json error_;
  PreparedModel training_;
};

} // namespace

TEST_CASE("GPT-2 and LLaMA match Hugging Face on both engines in every precision") {
  for (const auto engine : {Engine::interpreter, Engine::fastest})
    for (const auto precision : {Precision::fp32, Precision::fp16, Precision::bf16,
                                 Precision::amp_fp16, Precision::amp_bf16})
      for (const std::string family : {"gpt2", "llama"}) {
        INFO(family << ", " << to_string(precision)
                    << (engine == Engine::fastest ? ", fastest" : ", interpreter"));
        LanguageRun run{family, engine, precision};
        run.check_first_step();
        run.check_ten_steps("sgd");
        // Squares of small gradients underflow in f16: Adam then divides by noise, in PyTorch too.
        if (precision != Precision::fp16)
          run.check_ten_steps("adamw");
      }
}

TEST_CASE("GPT-2 of 124 million parameters matches Hugging Face", "[long]") {
  LanguageRun{"gpt2_124m", Engine::fastest}.check_first_step();
}
