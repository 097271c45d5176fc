/// Runs the program as a user does.
#pragma once

#include "scratch_folder.hpp"

#include <cstdlib>
#include <string>

#include <sys/wait.h>

namespace troupe::testing {

struct Outcome {
  int code = -1; ///< exit code, or 128 + signal
  std::string out, err;
};

/// `arguments` as a shell takes them; `environment` as "NAME=value".
inline Outcome troupe_program(const std::string& arguments, const std::string& environment = {}) {
  const ScratchFolder folder;
  const auto out = folder / "out", err = folder / "err";
  const auto command =
      environment + " " TROUPE_PROGRAM " " + arguments + " >" + out.string() + " 2>" + err.string();
  const int status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), read_bytes(out),
          read_bytes(err)};
}

} // namespace troupe::testing
