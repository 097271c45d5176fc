// `troupe compare`: trains the same job with several strategies and precisions, each in a process
// of its own, or compares existing runs.
#include "app/add_command.hpp"
#include "app/command_tree.hpp"
#include "app/doctor.hpp"
#include "app/subprocess.hpp"
#include "core/atomic_file.hpp"
#include "core/escape.hpp"
#include "core/fail.hpp"
#include "metrics/machine/process_use.hpp"
#include "metrics/number_format.hpp"
#include "metrics/page/page.hpp"
#include "metrics/report/comparison.hpp"
#include "metrics/report/folder_report.hpp"
#include "metrics/report/run_folder.hpp"
#include "metrics/report/run_state.hpp"
#include "training/job.hpp"
#include "training/platforms/platforms.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <optional>

namespace troupe::app {

namespace {

namespace fs = std::filesystem;

struct CompareArguments {
  ConfigArguments config;
  std::vector<std::string> strategies, precisions = {"fp32"};
  std::vector<std::string> runs; ///< folders; empty: compare modes
  std::string output = "comparison";
};

/// The last line of a run's log; after a failure, the reason.
std::string last_line(const fs::path& log) {
  std::ifstream in{log};
  std::string last = "it printed nothing";
  for (std::string line; std::getline(in, line);)
    if (!line.empty())
      last = line;
  return last;
}

/// The reason why a row is not trained, without the position of its override, which readers of the
/// table do not know.
std::string reason(ConfigProblem problem) {
  if (!problem.key.empty())
    problem.source.clear(), problem.line = 0;
  return problem.to_string();
}

std::string without_suffix(std::string strategy) {
  if (strategy.ends_with(offload_suffix))
    strategy.resize(strategy.size() - offload_suffix.size());
  return strategy;
}

/// Returns the settings for a strategy's name. With the suffix "_offload" ("fsdp_offload") they
/// offload all kinds of state that the strategy can offload, in this ratio; without it, nothing.
/// Precondition: the name without the suffix is that of a strategy.
std::vector<std::string> settings_of(std::string strategy, double ratio) {
  const bool offloads = strategy.ends_with(offload_suffix);
  strategy = without_suffix(std::move(strategy));
  const auto traits = traits_of(*choice_named<StrategyKind>(strategy));
  const bool all = traits.divides == Divided::parameters;
  const auto offload =
      offloads ? fmt::format("{{{}: {}}}", all ? "parameters" : "optimizer", ratio) : "none";
  std::vector<std::string> settings = {"parallel.strategy=" + strategy,
                                       "parallel.offload=" + offload};
  if (traits.alone)
    settings.emplace_back("devices.count=1");
  return settings;
}

/// Returns the ratio of the config, or all if it cannot be read, which each row reports.
double offload_ratio(const ConfigArguments& arguments, const Catalogue& catalogue) {
  const auto config =
      load_config(arguments.path, arguments.overrides, Capabilities::all(), catalogue);
  return config ? config->parallel.offload.ratio : 1;
}

/// A row of the table, from its settings to its results.
class Row {
public:
  Row(const CompareArguments& arguments, const Catalogue& catalogue, const std::string& strategy,
      const std::string& precision)
      : catalogue_{catalogue}, path_{arguments.config.path}, overrides_{arguments.config.overrides},
        name_{strategy + "-" + precision}, output_{arguments.output}, run_{strategy, precision} {
    std::ranges::move(settings_of(strategy, offload_ratio(arguments.config, catalogue)),
                      std::back_inserter(overrides_));
    overrides_.insert(overrides_.end(),
                      {"precision.mode=" + precision, "run.name=" + name_,
                       "run.output=" + output_.string(), "checkpoint.resume=never"});
  }

  /// Trains, unless the same config has already been trained in this folder. If the config is
  /// invalid, sets the row's problem and returns empty.
  std::optional<Config> complete() {
    auto config = load_config(path_, overrides_, training::machine_capabilities(), catalogue_);
    if (!config) {
      run_.problem = reason(config.error().front());
      return std::nullopt;
    }
    if (!was_begun(*config) || !take())
      train(*config);
    return *std::move(config);
  }

  /// The row with links to files of its folder.
  metrics::ComparedRun run() const {
    auto run = run_;
    for (const auto& [path, to] : {std::pair{fs::path{name_} / "report.html", &run.report},
                                   std::pair{fs::path{name_ + ".log"}, &run.log}})
      if (fs::exists(output_ / path))
        *to = path.string();
    return run;
  }

private:
  fs::path folder() const { return output_ / name_; }

  /// Whether the folder contains a run of this config. A run that could not begin leaves an earlier
  /// run's files.
  bool was_begun(const Config& config) const {
    return metrics::read_text(folder() / "config.yaml") == to_yaml(config, catalogue_);
  }

  std::string summary() const { return metrics::read_text(folder() / "summary.json"); }

  bool take() {
    take_summary(run_, summary());
    if (!run_.problem.empty())
      return false;
    if (const auto document = metrics::read_report(folder()))
      run_.curves = metrics::curves_of(*document);
    return true;
  }

  void train(const Config& config) {
    std::vector<std::string> words = {"train", path_, "--quiet"};
    for (const auto& setting : overrides_)
      words.insert(words.end(), {"--set", setting});
    const auto log = output_ / (name_ + ".log");
    const auto before = summary();
    const auto code = run_subprocess(words, log);
    if (!code)
      run_.problem = code.error().message;
    else if (*code > 128)
      run_.problem = fmt::format("killed by signal {}", *code - 128);
    else if (!was_begun(config) || summary() == before) // the folder still contains an earlier run
      run_.problem = last_line(log);
    else
      take();
  }

  const Catalogue& catalogue_;
  std::string path_;
  std::vector<std::string> overrides_;
  std::string name_;
  fs::path output_;
  metrics::ComparedRun run_;
};

std::string said_of(const metrics::ComparedRun& run) {
  if (!run.problem.empty())
    return run.problem;
  auto text = fmt::format("{}, {} samples/s", metrics::format_seconds(run.seconds),
                          metrics::format_rate(run.samples_per_second));
  if (run.tokens_per_second)
    text += fmt::format(", {} tokens/s", metrics::format_rate(*run.tokens_per_second));
  return text + fmt::format(", {} per worker",
                            metrics::format_bytes(static_cast<double>(run.peak_memory_bytes)));
}

metrics::ComparedMachine this_machine() {
  metrics::ComparedMachine machine{.host = training::host_name()};
  machine.cores = static_cast<std::int64_t>(training::machine_capabilities().host_cores);
  for (const auto& memory : metrics::host_memory())
    if (memory.limit == "host")
      machine.memory_bytes = memory.limit_bytes;
  for (const auto& finding : platform_findings()) {
    if (finding.section == "host" && finding.name == "cpu")
      machine.processor = finding.value;
    if (finding.section == "host" && finding.name == "isa")
      machine.instruction_set = finding.value;
    if (finding.section == "cuda" && finding.name.starts_with("device "))
      machine.gpus.push_back(finding.value);
  }
  return machine;
}

/// Called after each row, so that a comparison that is ended early keeps its rows.
Status write_tables(const fs::path& folder, const metrics::Comparison& comparison) {
  TROUPE_TRY(write_file_atomically(folder / "compare.md", to_markdown(comparison)));
  const auto document = to_json(comparison, std::chrono::system_clock::now());
  TROUPE_TRY(write_file_atomically(folder / "compare.json", document));
  return write_file_atomically(folder / "compare.html", metrics::standalone_page(document));
}

/// The title is empty if no row could begin.
Result<metrics::Comparison> compare(const CompareArguments& arguments, const Catalogue& catalogue) {
  TROUPE_TRY(make_folders(arguments.output));
  metrics::Comparison comparison{
      .title = {}, .runs = {}, .machine = this_machine(), .version = TROUPE_VERSION};
  const auto rows = arguments.strategies.size() * arguments.precisions.size();
  for (const auto& precision : arguments.precisions)
    for (const auto& strategy : arguments.strategies) {
      fmt::print("[{}/{}] {} {}: ", comparison.runs.size() + 1, rows, echoed(strategy),
                 echoed(precision));
      std::fflush(stdout);
      Row row{arguments, catalogue, strategy, precision};
      const auto config = row.complete();
      comparison.runs.push_back(row.run());
      if (config)
        comparison.title = comparison.runs.back().job =
            fmt::format("{} on {}", config->model.name, config->data.dataset);
      fmt::print("{}\n", said_of(comparison.runs.back()));
      TROUPE_TRY(write_tables(arguments.output, comparison));
    }
  return comparison;
}

bool is_known(const char* what, const std::string& name, const std::vector<std::string>& known) {
  if (std::ranges::count(known, name) > 0)
    return true;
  report_error(
      fmt::format("{}; allowed: {}", unknown_name(what, name, known), fmt::join(known, ", ")));
  return false;
}

/// Reports every unknown name.
bool knows_all_names(const CompareArguments& arguments) {
  const std::vector<std::string> precisions{choice_words<Precision>.begin(),
                                            choice_words<Precision>.end()};
  bool all = true;
  for (const auto& strategy : arguments.strategies)
    all &= choice_named<StrategyKind>(without_suffix(strategy)) ||
           is_known("strategy", strategy, strategy_names());
  for (const auto& precision : arguments.precisions)
    all &= is_known("precision", precision, precisions);
  return all;
}

Result<int> compare_modes(const CompareArguments& arguments, const Catalogue& catalogue) {
  if (!knows_all_names(arguments))
    return wrong_input;
  TROUPE_TRY(const auto comparison, compare(arguments, catalogue));
  fmt::print("\n{}", to_markdown(comparison));
  if (comparison.title.empty())
    return report_wrong_input(comparison.runs.back().problem);
  const auto completed = [](const auto& run) { return run.problem.empty(); };
  return std::ranges::all_of(comparison.runs, completed) ? success : run_failed;
}

/// Appends the folder to names that several runs share.
void tell_apart(std::vector<metrics::ComparedRun>& runs, const std::vector<std::string>& folders) {
  std::map<std::string, int> count;
  for (const auto& run : runs)
    ++count[run.name];
  for (std::size_t i = 0; i < runs.size(); ++i)
    if (count[runs[i].name] > 1)
      runs[i].name += fmt::format(" in {}", echoed(folders[i]));
}

/// The path relative to the table's folder; empty for files outside of it, to which the page has no
/// links.
std::string link_to(const fs::path& file, const fs::path& table) {
  const auto path = fs::absolute(file).lexically_normal().lexically_relative(
      fs::absolute(table).lexically_normal());
  return !fs::exists(file) || path.empty() || path.begin()->string() == ".." ? "" : path.string();
}

std::string title_of(const std::vector<metrics::ComparedRun>& runs) {
  const auto same = [&](const auto& run) { return run.job == runs.front().job; };
  return std::ranges::all_of(runs, same) ? runs.front().job : fmt::format("{} runs", runs.size());
}

/// Errors: invalid_input for a folder that cannot be compared.
Result<metrics::Comparison> read_runs(const CompareArguments& arguments) {
  metrics::Comparison comparison{
      .title = {}, .runs = {}, .machine = std::nullopt, .version = TROUPE_VERSION};
  for (const auto& folder : arguments.runs) {
    TROUPE_TRY(auto run, metrics::read_compared_run(folder));
    run.report = link_to(fs::path{folder} / metrics::run_files::report, arguments.output);
    comparison.runs.push_back(std::move(run));
  }
  tell_apart(comparison.runs, arguments.runs);
  comparison.title = title_of(comparison.runs);
  return comparison;
}

Result<int> compare_runs(const CompareArguments& arguments) {
  TROUPE_TRY(const auto comparison, read_runs(arguments));
  TROUPE_TRY(make_folders(arguments.output));
  TROUPE_TRY(write_tables(arguments.output, comparison));
  fmt::print("{}\npage: {}\n", to_markdown(comparison),
             (fs::path{arguments.output} / "compare.html").string());
  return success;
}

/// Requires either CONFIG with --strategies, or --runs.
void require_one_kind(const CompareArguments& arguments) {
  if (!arguments.runs.empty())
    return;
  if (arguments.config.path.empty())
    throw CLI::RequiredError{"CONFIG with --strategies, or --runs"};
  if (arguments.strategies.empty())
    throw CLI::RequiredError{"--strategies"};
}

} // namespace

void add_compare_command(CLI::App& app, Action& action) {
  auto arguments = std::make_shared<CompareArguments>();
  auto* command = app.add_subcommand(
      "compare", "Compare strategies and precisions on the same job, or existing runs: a table of "
                 "time, memory and accuracy or perplexity, and curves");
  add_config_arguments(*command, arguments->config, false);
  add_value(*command, "--strategies", "NAME,...", arguments->strategies,
            "Values of parallel.strategy; NAME_offload also offloads to the host's memory")
      ->delimiter(',');
  add_value(*command, "--precisions", "NAME,...", arguments->precisions, "Values of precision.mode")
      ->delimiter(',')
      ->capture_default_str();
  add_value(*command, "--runs", "FOLDER", arguments->runs,
            "Folders of runs to compare; nothing is trained")
      ->excludes("config", "--strategies", "--precisions", "--set");
  add_value(*command, "--output", "FOLDER", arguments->output,
            "Folder for the table and the runs; completed runs in it are reused")
      ->capture_default_str();
  command->callback([&action, arguments] {
    require_one_kind(*arguments);
    action = [arguments](const Catalogue& catalogue) {
      return exit_code_of(arguments->runs.empty() ? compare_modes(*arguments, catalogue)
                                                  : compare_runs(*arguments));
    };
  });
}

} // namespace troupe::app
