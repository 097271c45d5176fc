/// `troupe config import`: converts configs of accelerate, DeepSpeed and Hugging Face.
#pragma once

#include "app/commands.hpp"

namespace troupe::app {

/// Adds the command below `config`.
void add_import_command(CLI::App& config, Action& action);

} // namespace troupe::app
