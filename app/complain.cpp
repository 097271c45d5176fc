#include "complain.hpp"

#include <fmt/format.h>

#include <cstdio>

namespace troupe::app {

void say_line(std::string_view line) {
  // Not fmt::print, which throws when nothing can be written.
  std::fputs(fmt::format("{}\n", line).c_str(), stderr);
}

void complain(std::string_view text) {
  say_line(fmt::format("troupe: {}", text));
}

int complain(const Error& error) {
  complain(error.to_string());
  return error.exit_code();
}

} // namespace troupe::app
