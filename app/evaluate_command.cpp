// `troupe evaluate`: measures how well a language model predicts text.
#include "app/add_command.hpp"
#include "core/escape.hpp"
#include "core/fail.hpp"
#include "inference/evaluate_text.hpp"
#include "metrics/json_values.hpp"
#include "metrics/number_format.hpp"
#include "training/hugging_face/config_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace troupe::app {

namespace {

struct EvaluateArguments {
  inference::SavedModelOptions model;
  std::string data;
  bool json = false;
};

/// Requires texts: a Hugging Face folder has none.
Status expect_texts(const EvaluateArguments& arguments) {
  const auto& model = arguments.model;
  const bool has_texts = !arguments.data.empty() || model.config ||
                         std::ranges::any_of(model.overrides, [](const auto& set) {
                           return set.starts_with("data.");
                         });
  if (has_texts || !training::is_hugging_face(model.path))
    return {};
  return fail(Errc::invalid_input,
              "{} is a Hugging Face folder, which contains no texts; add --data TEXT",
              escaped(model.path.string()));
}

Result<inference::TextScore> evaluate(const EvaluateArguments& arguments,
                                      const Catalogue& catalogue) {
  TROUPE_TRY(expect_texts(arguments));
  auto options = arguments.model;
  if (!arguments.data.empty()) // a string of JSON is one of YAML
    options.overrides.push_back("data.validation=" + metrics::dumped(arguments.data));
  TROUPE_TRY(const auto model, inference::open_saved_model(options, catalogue));
  return inference::evaluate_text(model, say_line);
}

void print_text(const inference::TextScore& score) {
  fmt::print("loss           {:.4f} nats per token\n", score.loss());
  fmt::print("perplexity     {:.4f}\n", score.perplexity());
  fmt::print("bits per byte  {:.4f}\n", score.bits_per_byte());
  fmt::print("{} in {}, {}; {} tokens/s\n", metrics::counted(score.tokens, "token"),
             metrics::counted(score.windows, "window"), metrics::counted(score.bytes, "byte"),
             metrics::format_rate(score.tokens_per_second()));
}

/// Numbers that are not finite become null.
void print_json(const inference::TextScore& score) {
  const metrics::OrderedJson json = {{"loss", score.loss()},
                                     {"perplexity", score.perplexity()},
                                     {"bits_per_byte", score.bits_per_byte()},
                                     {"tokens", score.tokens},
                                     {"windows", score.windows},
                                     {"bytes", score.bytes},
                                     {"tokens_per_second", score.tokens_per_second()}};
  fmt::print("{}\n", metrics::dumped(json, 2));
}

Status print_score(const EvaluateArguments& arguments, const Catalogue& catalogue) {
  TROUPE_TRY(const auto score, evaluate(arguments, catalogue));
  arguments.json ? print_json(score) : print_text(score);
  return {};
}

} // namespace

void add_evaluate_command(CLI::App& app, Action& action) {
  auto [command, arguments] = add_command<EvaluateArguments>(
      app, action, "evaluate",
      "Measure the loss, perplexity and bits per byte of a language model on texts", print_score);
  add_model_arguments(command, arguments.model);
  add_value(command, "--data", "TEXT", arguments.data,
            "A text, a folder of texts or a token file; default: the run's evaluation "
            "texts. Required for a Hugging Face folder");
  command.add_flag("--json", arguments.json, "Print JSON");
}

} // namespace troupe::app
