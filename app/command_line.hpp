/// The command line of this process, for messages that suggest to run it again.
#pragma once

#include <string>
#include <vector>

namespace troupe::app {

/// The words as passed by the shell, the program first.
std::vector<std::string> own_command_line();

/// Quotes the words so that a shell splits them into the same words again.
std::string as_shell_command(const std::vector<std::string>& words);

} // namespace troupe::app
