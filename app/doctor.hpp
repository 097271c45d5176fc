/// The checks of `troupe doctor`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace troupe::app {

struct Finding {
  enum class State : std::uint8_t {
    good,
    absent, ///< missing, but nothing fails without it
    bad,    ///< a requested feature will fail
  };
  std::string section, name, value;
  State state = State::good;
};
using Findings = std::vector<Finding>;

/// Prints one line each, grouped by section.
void print_findings(const Findings& findings);

/// Findings of every platform, the host first.
Findings platform_findings();
/// Versions of the libraries, as compiled and as loaded.
Findings library_findings();

} // namespace troupe::app
