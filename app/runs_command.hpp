/// `troupe runs`.
#pragma once

#include "app/commands.hpp"

namespace troupe::app {

void add_runs_command(CLI::App& app, Action& action);

} // namespace troupe::app
