/// Resource use of a process, as the system counts it.
#pragma once

#include "tests/system/running_program.hpp"

#include <cstdint>
#include <filesystem>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string>

namespace troupe::testing {

/// Returns the peak memory in bytes.
inline std::int64_t peak_memory(const RunningProgram& program) {
  std::istringstream status(read_bytes("/proc/" + std::to_string(program.id()) + "/status"));
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:"))
      return std::stoll(line.substr(6)) * 1024;
  throw std::runtime_error("no peak memory in /proc");
}

/// Returns the number of open sockets.
inline std::int64_t open_sockets(const RunningProgram& program) {
  namespace fs = std::filesystem;
  std::int64_t count = 0;
  std::error_code gone; // closed meanwhile
  for (const auto& file : fs::directory_iterator{"/proc/" + std::to_string(program.id()) + "/fd"})
    count += fs::read_symlink(file, gone).string().starts_with("socket:") ? 1 : 0;
  return count;
}

} // namespace troupe::testing
