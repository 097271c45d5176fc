#include "app/report_error.hpp"

#include "app/commands.hpp"
#include "core/escape.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <new>

namespace troupe::app {

void say_line(std::string_view line) {
  // fmt::print would throw if the write fails.
  std::fputs(fmt::format("{}\n", line).c_str(), stderr);
}

void report_error(std::string_view text) {
  say_line(fmt::format("troupe: {}", escaped_lines(text)));
}

int report_error(const Error& error) {
  report_error(error.to_string());
  return error.exit_code();
}

int report_wrong_input(std::string_view text) {
  report_error(text);
  return wrong_input;
}

void report_error(const std::exception& error) {
  if (dynamic_cast<const std::bad_alloc*>(&error))
    return report_error("not enough memory");
  if (const auto* of_file = dynamic_cast<const std::filesystem::filesystem_error*>(&error))
    return report_error(
        fmt::format("{}: {}", of_file->path1().string(), of_file->code().message()));
  std::string_view text{error.what()};
  if (const auto end = text.find("] "); text.starts_with('[') && end != std::string_view::npos)
    text.remove_prefix(end + 2);
  report_error(echoed(text));
}

} // namespace troupe::app
