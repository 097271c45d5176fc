// `troupe config import`: converts configs of accelerate, DeepSpeed and Hugging Face.
#include "app/add_command.hpp"
#include "core/atomic_file.hpp"
#include "core/escape.hpp"
#include "importers/import.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace troupe::app {

namespace {

struct Program {
  const char* name;
  const char* help;
  Imported (*import)(const std::filesystem::path&, const ImportOptions&, const Catalogue&);
  ForeignRows (*rows)();
};

constexpr Program programs[] = {
    {"accelerate", "Import accelerate's YAML (default_config.yaml)", import_accelerate,
     accelerate_rows},
    {"deepspeed", "Import DeepSpeed's JSON (ds_config.json)", import_deepspeed, deepspeed_rows},
    {"huggingface", "Import a Hugging Face folder, or its config.json", import_hugging_face,
     hugging_face_rows},
};

struct ImportArguments {
  std::string path;
  std::string output;
  bool force = false, keys = false;
  ImportOptions options;
};

std::size_t count(const Imported& imported, Fate fate) {
  return static_cast<std::size_t>(std::ranges::count(imported.lines, fate, &ImportLine::fate));
}

/// Prints at most 100 problems: a damaged file may have thousands.
void say_problems(const Imported& imported, bool allow_unsupported) {
  constexpr std::size_t most = 100;
  for (const auto& problem :
       std::span{imported.problems}.first(std::min(most, imported.problems.size())))
    say_line(problem.to_string());
  if (imported.problems.size() > most)
    say_line(fmt::format("and {} more problems", imported.problems.size() - most));
  const auto unsupported = std::ranges::count_if(imported.problems, [](const auto& problem) {
    return problem.what.starts_with("not supported: ");
  });
  if (unsupported > 0 && !allow_unsupported)
    say_line("--allow-unsupported leaves out unsupported keys, which changes training results");
}

void say_sum(const Imported& imported) {
  say_line(fmt::format(
      "{} keys: {} mapped, {} built in, {} not supported, {} without effect, {} unknown, {} left "
      "at the defaults",
      imported.lines.size(), count(imported, Fate::mapped), count(imported, Fate::built_in),
      count(imported, Fate::left_out) + count(imported, Fate::refused), count(imported, Fate::idle),
      count(imported, Fate::unknown), count(imported, Fate::open)));
}

int write(const ImportArguments& arguments, const std::string& yaml) {
  if (arguments.output.empty()) {
    fmt::print("{}", yaml);
    return success;
  }
  std::error_code error;
  if (!arguments.force && std::filesystem::exists(arguments.output, error))
    return report_wrong_input(
        fmt::format("{} already exists; --force replaces it", arguments.output));
  return exit_code_of(write_file_atomically(arguments.output, yaml));
}

int run_import(const Program& program, const ImportArguments& arguments,
               const Catalogue& catalogue) {
  if (arguments.keys) {
    fmt::print("{}", foreign_rows_markdown(program.rows()));
    return success;
  }
  if (arguments.path.empty())
    return report_wrong_input("FILE is missing: name the file to import");
  const auto imported = program.import(arguments.path, arguments.options, catalogue);
  for (const auto& line : imported.lines) // the result for every key
    say_line(line.to_string());
  if (!imported.problems.empty()) {
    say_problems(imported, arguments.options.allow_unsupported);
    return wrong_input;
  }
  for (const auto& hint : imported.hints) // about settings that the files lack
    say_line("hint: " + escaped(hint));
  say_sum(imported);
  return write(arguments, imported.yaml);
}

void add_options(CLI::App& command, ImportArguments& arguments) {
  auto* keys = command.add_flag("--keys", arguments.keys,
                                "Print a table of all keys and how each is translated");
  add_value(command, "file", "FILE", arguments.path, "The file to import");
  add_value(command, "-o,--output", "FILE", arguments.output,
            "Write the config to this file instead of stdout")
      ->excludes(keys);
  command.add_flag("--force", arguments.force, "Replace an existing file");
  add_value(command, "--processes", "N", arguments.options.processes,
            "Total number of workers, if the file does not contain it")
      ->check(CLI::Range(1, 1 << 20));
  add_value(command, "--steps-per-epoch", "N", arguments.options.steps_per_epoch,
            "Convert the lengths of the warm-up and of the run from steps to epochs")
      ->check(CLI::Range(1, 1 << 30));
  command.add_flag("--allow-unsupported", arguments.options.allow_unsupported,
                   "Leave out unknown keys, and unsupported keys that change training results");
  add_override_option(command, arguments.options.overrides,
                      "Set a key of the config: --set data.dataset=cifar10");
}

} // namespace

void add_import_command(CLI::App& config, Action& action) {
  auto* import =
      config.add_subcommand("import", "Convert a config of accelerate, DeepSpeed or Hugging Face, "
                                      "and report how each key was translated");
  import->require_subcommand(1);
  for (const auto& program : programs) {
    auto [command, arguments] = add_command<ImportArguments>(
        *import, action, program.name, program.help,
        [&program](const ImportArguments& given, const Catalogue& catalogue) {
          return run_import(program, given, catalogue);
        });
    add_options(command, arguments);
  }
}

} // namespace troupe::app
