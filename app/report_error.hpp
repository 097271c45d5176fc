/// Messages of a command on stderr. A failed write (a full disk, a closed pipe) is ignored: the
/// exit code still reports the error.
#pragma once

#include "core/error.hpp"

#include <exception>
#include <string_view>

namespace troupe::app {

void say_line(std::string_view line);

/// Prints "troupe: TEXT" as a line.
void report_error(std::string_view text);

/// Prints an error the same way; returns its exit code.
int report_error(const Error& error);
/// Prints what is wrong with the input the same way; returns its exit code.
int report_wrong_input(std::string_view text);

/// Prints an exception of a library the same way, without the library's prefix for the place of the
/// error.
void report_error(const std::exception& error);

} // namespace troupe::app
