/// Configs of daemons that a launcher has started, torchrun or SLURM (--launcher).
#pragma once

#include "app/commands.hpp"
#include "core/launch/launcher.hpp"

namespace CLI {
class Option;
}

namespace troupe::app {

/// --launcher, into `name`; empty: none has started it.
CLI::Option* add_launcher_option(CLI::App& command, std::string& name);

/// What this process's environment says of its part. Errors: those of read_launcher();
/// invalid_input, where the config has a key that only one process of this host can have.
Result<LaunchedProcess> find_part(const std::string& launcher, const ConfigArguments& arguments,
                                  const Catalogue& catalogue);

/// Makes own_gpu() the one that this process sees, before any is asked for. Error: as there.
Status show_own_gpu(const LaunchedProcess& process);

} // namespace troupe::app
