/// `troupe runs`.
#pragma once

#include "commands.hpp"

namespace troupe::app {

void add_runs_command(CLI::App& app, Action& action);

} // namespace troupe::app
