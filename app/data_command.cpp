// `troupe data check`: reads all samples before anything is trained on them.
#include "app/add_command.hpp"
#include "core/config/config.hpp"
#include "core/escape.hpp"
#include "core/fail.hpp"
#include "data/check.hpp"
#include "data/normalization.hpp"
#include "metrics/json_values.hpp"
#include "metrics/number_format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace troupe::app {

namespace {

using data::SplitCheck;
using metrics::format_count;
using Json = metrics::OrderedJson;

struct DataCheckArguments {
  ConfigArguments config;
  bool json = false;
};

/// The maximum number of classes, or unreadable files, that are listed one by one.
constexpr std::size_t most_told = 20;

void print_classes(const SplitCheck& check) {
  const auto& counts = check.per_class;
  if (counts.size() > most_told) {
    const auto least = std::ranges::min_element(counts), most = std::ranges::max_element(counts);
    const auto name = [&](auto count) {
      return echoed(check.class_names[static_cast<std::size_t>(count - counts.begin())]);
    };
    fmt::print("  {} classes: {} ({}) to {} ({})\n", format_count(std::ssize(counts)),
               format_count(*least), name(least), format_count(*most), name(most));
    return;
  }
  for (std::size_t i = 0; i < counts.size(); ++i)
    fmt::print("  {:>8}  {}\n", format_count(counts[i]), echoed(check.class_names[i]));
}

/// Prints the first messages, each after `what`.
void print_files(std::string_view what, const std::vector<std::string>& messages) {
  const auto count = messages.size();
  for (std::size_t i = 0; i < std::min(count, most_told); ++i)
    fmt::print("  {}: {}\n", what, echoed(messages[i]));
  if (count > most_told)
    fmt::print("  {}: {} more (--json lists all)\n", what, count - most_told);
}

void print_left_out(const data::LeftOut& left_out) {
  if (left_out.hidden > 0)
    fmt::print("  {} hidden {} left out\n", left_out.hidden,
               left_out.hidden == 1 ? "file or folder is" : "files and folders are");
  if (const auto text = left_out.unread_text(); !text.empty())
    fmt::print("  {}\n", text);
}

void print_text(const SplitCheck& check) {
  const auto unreadable = check.unreadable.size();
  fmt::print("{}: {} of {} {} read{}{}\n", to_string(check.split),
             format_count(check.samples - static_cast<std::int64_t>(unreadable)),
             format_count(check.samples), check.sample_name, check.source.empty() ? "" : " from ",
             echoed(check.source));
  if (check.least)
    fmt::print("  height {} to {}, width {} to {}\n", check.least->height, check.largest->height,
               check.least->width, check.largest->width);
  print_classes(check);
  print_left_out(check.left_out);
  print_files("damaged, but read", check.damaged);
  print_files("cannot be read", check.unreadable);
}

Json to_json(const SplitCheck& check) {
  Json classes = Json::array();
  for (std::size_t i = 0; i < check.class_names.size(); ++i)
    classes.push_back({{"name", check.class_names[i]}, {"samples", check.per_class[i]}});
  Json object = {{"split", to_string(check.split)},   {"source", check.source},
                 {"samples", check.samples},          {"unreadable_count", check.unreadable.size()},
                 {"unreadable", check.unreadable},    {"damaged_count", check.damaged.size()},
                 {"damaged", check.damaged},          {"hidden", check.left_out.hidden},
                 {"not_read", check.left_out.unread}, {"classes", classes}};
  if (check.least) {
    object["height"] = {check.least->height, check.largest->height};
    object["width"] = {check.least->width, check.largest->width};
  }
  return object;
}

Json to_json(const data::Normalization& normalization, std::int64_t channels) {
  const auto used = [channels](const auto& values) {
    return std::vector(values.begin(), values.begin() + channels);
  };
  return {{"mean", used(normalization.mean)}, {"std", used(normalization.deviation)}};
}

void print(const Config& config, const std::vector<SplitCheck>& checks, bool as_json) {
  const auto& normalization = checks.front().normalization;
  if (!as_json) {
    for (const auto& check : checks)
      print_text(check);
    if (normalization)
      fmt::print(
          "normalization: {}\n",
          data::to_string(*normalization, static_cast<std::size_t>(config.model.in_channels)));
    return;
  }
  Json root = {{"splits", Json::array()}};
  for (const auto& check : checks)
    root["splits"].push_back(to_json(check));
  if (normalization)
    root["normalization"] = to_json(*normalization, config.model.in_channels);
  fmt::print("{}\n", metrics::dumped(root, 2));
}

Result<int> check_data(const DataCheckArguments& arguments, const Catalogue& catalogue) {
  const auto config = load_or_report(arguments.config, Capabilities::all(), catalogue);
  if (!config)
    return wrong_input;
  std::vector<SplitCheck> checks;
  for (const auto split : {data::Split::train, data::Split::test}) {
    if (split == data::Split::test && config->train.evaluate_every == 0)
      continue; // a run would not open it either
    TROUPE_TRY(auto check, data::check_split(*config, split));
    checks.push_back(std::move(check));
  }
  print(*config, checks, arguments.json);
  const bool whole =
      std::ranges::all_of(checks, [](const SplitCheck& check) { return check.unreadable.empty(); });
  return whole ? success : wrong_input;
}

} // namespace

void add_data_command(CLI::App& app, Action& action) {
  auto* data = app.add_subcommand("data", "Check data sets");
  data->require_subcommand(1);
  auto [check, arguments] = add_command<DataCheckArguments>(
      *data, action, "check", "Read every file of both splits, and report unreadable ones",
      check_data);
  add_config_arguments(check, arguments.config);
  check.add_flag("--json", arguments.json, "Print JSON");
}

} // namespace troupe::app
