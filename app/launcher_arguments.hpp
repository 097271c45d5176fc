/// --launcher: configs of daemons started by torchrun or SLURM.
#pragma once

#include "app/commands.hpp"
#include "core/launch/launcher.hpp"

namespace CLI {
class Option;
}

namespace troupe::app {

/// Adds --launcher, stored in `name`; empty: started without a launcher.
CLI::Option* add_launcher_option(CLI::App& command, std::string& name);

/// Reads this process's part of the job from its environment. Errors: those of read_launcher();
/// invalid_input, if the config has a key that only one process of this host can have.
Result<LaunchedProcess> find_part(const std::string& launcher, const ConfigArguments& arguments,
                                  const Catalogue& catalogue);

/// Makes own_gpu() the only GPU that this process sees. Call before any GPU is used. Error: that of
/// own_gpu().
Status show_own_gpu(const LaunchedProcess& process);

} // namespace troupe::app
