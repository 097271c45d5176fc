// troupe convert: writes a saved state in another format.
#include "app/add_command.hpp"
#include "core/checkpoint/given_file.hpp"
#include "core/checkpoint/state_source.hpp"
#include "core/checkpoint/write_state.hpp"
#include "core/escape.hpp"
#include "core/fail.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

namespace troupe::app {

namespace {

namespace fs = std::filesystem;

struct ConvertArguments {
  std::string from, to;
  std::string form = "full";
  int parts = 1;
  bool force = false;
};

Status check_target(const fs::path& to, bool force) {
  std::error_code error;
  if (!fs::exists(to, error) || force)
    return {};
  return fail(Errc::invalid_input, "{} already exists; --force replaces it", escaped(to.string()));
}

Status write(const ConvertArguments& arguments, const StateSource& state) {
  if (arguments.form == "safetensors")
    return write_weights(arguments.to, state);
  return write_state(arguments.to, state, arguments.form == "sharded" ? arguments.parts : 0);
}

Status convert(const ConvertArguments& arguments) {
  TROUPE_TRY(check_target(arguments.to, arguments.force));
  const auto opened = open_state(arguments.from);
  if (!opened)
    return failure(as_wrong_input(opened.error()));
  const auto& state = *opened;
  const auto& tensors = state->header().tensors;
  if (tensors.empty())
    return fail(Errc::invalid_input, "{} has no floating-point tensors", escaped(arguments.from));
  TROUPE_TRY(write(arguments, *state));
  const auto of_optimizer =
      std::ranges::count_if(tensors, is_optimizer_tensor, &CheckpointEntry::name);
  fmt::print("{}: {} tensors{}\n", escaped(arguments.to),
             std::ssize(tensors) - (arguments.form == "safetensors" ? of_optimizer : 0),
             of_optimizer == 0                 ? ""
             : arguments.form == "safetensors" ? ", without the optimizer's state"
                                               : ", with the optimizer's state");
  return {};
}

} // namespace

void add_convert_command(CLI::App& app, Action& action) {
  auto [command, arguments] = add_command<ConvertArguments>(
      app, action, "convert",
      "Convert a checkpoint, or another program's safetensors file, to another format", convert);
  add_value(command, "FROM", "MODEL", arguments.from, "A checkpoint, or a safetensors file")
      ->required();
  add_value(command, "TO", "PATH", arguments.to, "The new checkpoint's folder, or file")
      ->required();
  add_choice(command, "--to", {"full", "sharded", "safetensors"}, arguments.form,
             "full: a checkpoint in two files; sharded: one in --parts files; safetensors: "
             "only the weights, in one file");
  add_number(command, "--parts", arguments.parts, CLI::Range(1, 65536),
             "Number of files of a sharded checkpoint");
  command.add_flag("--force", arguments.force, "Replace an existing file or checkpoint");
}

} // namespace troupe::app
