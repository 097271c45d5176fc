/// How this process was started, for people to do it again.
#pragma once

#include <string>
#include <vector>

namespace troupe::app {

/// The words as the shell gave them, the program first.
std::vector<std::string> own_command_line();

/// What a person can give to a shell to get these words.
std::string as_shell_command(const std::vector<std::string>& words);

} // namespace troupe::app
