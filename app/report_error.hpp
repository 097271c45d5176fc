/// What a command says on stderr. Where that cannot be written (a full disk, a reader that has
/// gone) nothing else changes: the exit code still tells.
#pragma once

#include "core/error.hpp"

#include <exception>
#include <string_view>

namespace troupe::app {

void say_line(std::string_view line);

/// "troupe: TEXT" as a line.
void report_error(std::string_view text);

/// The same with an error; gives its exit code.
int report_error(const Error& error);

/// The same with what a library has thrown, without its own words for where in the library that
/// was.
void report_error(const std::exception& error);

} // namespace troupe::app
