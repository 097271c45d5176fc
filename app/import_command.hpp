/// `troupe config import`: configs of accelerate, DeepSpeed and Hugging Face become configs of
/// troupe.
#pragma once

#include "app/commands.hpp"

namespace troupe::app {

/// Below the command `config`.
void add_import_command(CLI::App& config, Action& action);

} // namespace troupe::app
