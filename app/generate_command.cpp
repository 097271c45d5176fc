// `troupe generate`: continues a text with a language model.
#include "app/add_command.hpp"
#include "core/fail.hpp"
#include "inference/continuation.hpp"
#include "metrics/json_values.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>

namespace troupe::app {

namespace {

/// Exceeds the number of positions of any model.
constexpr std::size_t most_prompt_bytes = std::size_t{64} << 20;

struct GenerateArguments {
  inference::SavedModelOptions model;
  training::GenerateOptions options;
  bool json = false, quiet = false;
};

/// Reads the prompt from standard input if it is "-".
Status read_prompt(std::string& prompt) {
  if (prompt != "-")
    return {};
  prompt.resize(most_prompt_bytes + 1);
  prompt.resize(std::fread(prompt.data(), 1, prompt.size(), stdin));
  if (std::ferror(stdin) != 0)
    return fail(Errc::io, "standard input cannot be read");
  if (prompt.size() > most_prompt_bytes)
    return fail(Errc::invalid_input, "standard input is longer than {} MiB, the limit for a prompt",
                most_prompt_bytes >> 20);
  return {};
}

/// Flushes each part, so that the text appears while it is generated.
Status print_piece(std::string_view piece) {
  if (std::fwrite(piece.data(), 1, piece.size(), stdout) < piece.size() || std::fflush(stdout) != 0)
    return fail(Errc::io, "standard output: not all of it could be written");
  return {};
}

void say_speed(const inference::Generated& result) {
  say_line(fmt::format(
      "prompt: {} tokens ({:.1f} tokens/s); generated: {} tokens ({:.1f} tokens/s){}",
      result.prompt.size(), result.prompt_tokens_per_second(), result.tokens.size(),
      result.tokens_per_second(),
      result.ending == inference::Ending::context ? "; the model's context is full" : ""));
}

void print_json(const GenerateArguments& arguments, const std::string& text,
                const inference::Generated& result) {
  const metrics::OrderedJson json = {
      {"prompt", arguments.options.prompt},
      {"text", text},
      {"ending", inference::to_string(result.ending)},
      {"prompt_tokens", result.prompt},
      {"tokens", result.tokens},
      {"prompt_tokens_per_second", result.prompt_tokens_per_second()},
      {"tokens_per_second", result.tokens_per_second()}};
  fmt::print("{}\n", metrics::dumped(json, 2));
}

Status generate(GenerateArguments arguments, const Catalogue& catalogue) {
  TROUPE_TRY(read_prompt(arguments.options.prompt));
  TROUPE_TRY(const auto model, inference::open_saved_model(arguments.model, catalogue));
  std::string text;
  const auto take = [&](std::string_view piece) -> Status {
    text += piece;
    return arguments.json ? Status{} : print_piece(piece);
  };
  TROUPE_TRY(const auto result, inference::generate(model, arguments.options, take, say_line));
  if (arguments.json) {
    print_json(arguments, text, result);
    return {};
  }
  if (!text.ends_with('\n'))
    TROUPE_TRY(print_piece("\n"));
  if (!arguments.quiet)
    say_speed(result);
  return {};
}

/// Needed because CLI::Range accepts text that is not a number. Describes itself like CLI::Range.
CLI::Validator number_between(double least, double most) {
  return {[=](const std::string& text) {
            double value = 0;
            const bool is_number = CLI::detail::lexical_cast(text, value);
            return is_number && value >= least && value <= most
                       ? std::string{}
                       : fmt::format("{} is not a number from {} to {}", text, least, most);
          },
          fmt::format("FLOAT in [{} - {}]", least, most)};
}

/// Needed because CLI11 reads -1 as the largest number.
CLI::Validator whole_number() {
  static constexpr auto most = std::numeric_limits<std::uint64_t>::max();
  return {[](const std::string& text) {
            std::uint64_t value = 0;
            const auto* const end = text.data() + text.size();
            const auto [at, error] = std::from_chars(text.data(), end, value);
            return error == std::errc{} && at == end
                       ? std::string{}
                       : fmt::format("{} is not a whole number from 0 to {}", text, most);
          },
          fmt::format("UINT in [0 - {}]", most)};
}

void add_sampling_options(CLI::App& command, training::SamplingOptions& sampling) {
  add_number(command, "--temperature", sampling.temperature, number_between(0, 1000),
             "Sampling temperature: lower values prefer likelier tokens; 0: always the likeliest");
  add_number(command, "--top-k", sampling.top_k, CLI::Range(0, 1 << 24),
             "Sample from only this many of the likeliest tokens; 0: all");
  add_number(command, "--top-p", sampling.top_p, number_between(0, 1),
             "Sample from only the likeliest tokens whose probabilities add up to this");
  add_number(command, "--seed", sampling.seed, whole_number(),
             "Seed of the sampling; the same seed gives the same text");
}

} // namespace

void add_generate_command(CLI::App& app, Action& action) {
  auto [command, arguments] = add_command<GenerateArguments>(
      app, action, "generate", "Continue a text with a language model", generate);
  add_model_arguments(command, arguments.model);
  add_value(command, "prompt", "PROMPT", arguments.options.prompt,
            "Start of the text; -: standard input; default: a new document");
  add_number(command, "--tokens", arguments.options.tokens, CLI::Range(1, 1 << 24),
             "Maximum number of generated tokens");
  add_sampling_options(command, arguments.options.sampling);
  command.add_flag("--json", arguments.json, "Print one JSON document at the end");
  command.add_flag("--quiet", arguments.quiet, "Print only the text");
}

} // namespace troupe::app
