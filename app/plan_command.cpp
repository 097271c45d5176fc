// `troupe plan`: predicts what each strategy needs of every worker, and recommends one.
#include "app/add_command.hpp"
#include "core/fail.hpp"
#include "metrics/json_values.hpp"
#include "metrics/number_format.hpp"
#include "training/platforms/platforms.hpp"
#include "training/prediction/strategy_choice.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace troupe::app {

namespace {

using training::Prediction;
using Json = metrics::OrderedJson;

struct PlanArguments {
  ConfigArguments config;
  bool json = false;
};

/// A strategy that conflicts with the config.
struct Refused {
  std::string strategy;
  std::string reason;
};

struct Plan {
  training::WorkerNeeds needs;
  std::vector<Prediction> predictions;
  std::vector<Refused> refused;
  training::Recommendation recommendation;
};

/// Returns the conflicts of the config with this strategy; empty if there are none.
std::string why_refused(Config config, const ParallelConfig& parallel,
                        const Capabilities& capabilities, const Catalogue& catalogue) {
  config.parallel = parallel;
  std::vector<std::string> reasons;
  for (const auto& conflict : find_conflicts(config, capabilities, catalogue))
    reasons.push_back(fmt::format("{} ({})", conflict.what, fmt::join(conflict.keys, ", ")));
  return fmt::format("{}", fmt::join(reasons, "; "));
}

Plan make_plan(training::WorkerNeeds needs, const Config& config, const Capabilities& capabilities,
               const Catalogue& catalogue) {
  std::vector<training::Prediction> predictions;
  std::vector<Refused> refused;
  for (const auto& parallel : training::alternatives(needs, config.parallel)) {
    if (auto reason = why_refused(config, parallel, capabilities, catalogue); reason.empty())
      predictions.push_back(training::predict(needs, parallel));
    else
      refused.push_back({training::name_of(parallel), std::move(reason)});
  }
  auto recommendation = training::recommend(predictions);
  return {std::move(needs), std::move(predictions), std::move(refused), std::move(recommendation)};
}

std::string readable(std::uint64_t bytes) {
  return metrics::format_bytes(static_cast<double>(bytes));
}

std::vector<MemoryKind> device_kinds() {
  std::vector<MemoryKind> kinds;
  for (std::size_t kind = 0; kind < memory_kinds; ++kind)
    if (static_cast<MemoryKind>(kind) != MemoryKind::pinned)
      kinds.push_back(static_cast<MemoryKind>(kind));
  return kinds;
}

void print_text(const Config& config, const Plan& plan) {
  fmt::print("{} on {}, {}, {} worker{} of {} each\n\n{:<13}", config.model.name,
             config.data.dataset, to_string(config.precision.mode), plan.needs.world_size,
             plan.needs.world_size == 1 ? "" : "s", readable(plan.needs.capacity), "");
  for (const auto kind : device_kinds())
    fmt::print("{:>14}", to_string(kind));
  fmt::print("{:>12}{:>14}{:>14}  fits\n", "total", "host memory", "sent per step");
  for (const auto& prediction : plan.predictions) {
    fmt::print("{:<13}", prediction.name());
    for (const auto kind : device_kinds())
      fmt::print("{:>14}", readable(prediction.bytes[static_cast<std::size_t>(kind)]));
    fmt::print("{:>12}{:>14}{:>14}  {}\n", readable(prediction.total()),
               readable(prediction.pinned()), readable(prediction.sent),
               prediction.fits ? "yes" : "no");
  }
  for (const auto& [strategy, reason] : plan.refused)
    fmt::print("\n{} would be refused: {}", strategy, reason);
  const auto& [strategy, reason] = plan.recommendation;
  fmt::print("{}\n{}: {}\n", plan.refused.empty() ? "" : "\n",
             strategy.empty() ? "no strategy" : strategy, reason);
}

void print_json(const Plan& plan) {
  auto rows = Json::array();
  for (const auto& prediction : plan.predictions) {
    Json bytes;
    for (std::size_t kind = 0; kind < memory_kinds; ++kind)
      bytes[std::string{to_string(static_cast<MemoryKind>(kind))}] = prediction.bytes[kind];
    rows.push_back({{"strategy", prediction.name()},
                    {"bytes_by_kind", bytes},
                    {"total_bytes", prediction.total()},
                    {"host_bytes", prediction.pinned()},
                    {"sent_bytes_per_step", prediction.sent},
                    {"fits", prediction.fits}});
  }
  auto refused = Json::array();
  for (const auto& [strategy, reason] : plan.refused)
    refused.push_back({{"strategy", strategy}, {"reason", reason}});
  const auto& [strategy, reason] = plan.recommendation;
  const Json root = {
      {"workers", plan.needs.world_size},
      {"capacity_bytes", plan.needs.capacity},
      {"strategies", rows},
      {"refused", refused},
      {"recommendation", {{"strategy", metrics::text_or_null(strategy)}, {"reason", reason}}}};
  fmt::print("{}\n", metrics::dumped(root, 2));
}

Result<int> plan(const PlanArguments& arguments, const Catalogue& catalogue) {
  const auto capabilities = training::machine_capabilities();
  const auto config = load_or_report(arguments.config, capabilities, catalogue);
  if (!config)
    return wrong_input;
  TROUPE_TRY(auto needs, training::measure_needs(*config));
  if (!needs.note.empty())
    report_error(needs.note);
  const auto made = make_plan(std::move(needs), *config, capabilities, catalogue);
  arguments.json ? print_json(made) : print_text(*config, made);
  return success;
}

} // namespace

void add_plan_command(CLI::App& app, Action& action) {
  auto [command, arguments] = add_command<PlanArguments>(
      app, action, "plan", "Predict each strategy's memory and traffic, and recommend one", plan);
  add_config_arguments(command, arguments.config);
  command.add_flag("--json", arguments.json, "Print JSON");
}

} // namespace troupe::app
