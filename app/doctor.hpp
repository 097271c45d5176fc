/// What `troupe doctor` looks at.
#pragma once

#include "core/config/forward.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace troupe::app {

struct Finding {
  enum class State : std::uint8_t {
    good,
    absent, ///< not there, and nothing fails without it
    bad,    ///< something that was asked for will fail
  };
  std::string section, name, value;
  State state = State::good;
};
using Findings = std::vector<Finding>;

/// A line each, under the names of their sections.
void print_findings(const Findings& findings);

/// Findings of every platform, the host first.
Findings platform_findings();
/// Findings of this machine and this build, whatever the platform.
Findings clock_findings();
/// Versions of the libraries, as compiled and as loaded.
Findings library_findings();
/// Whether a config's ports are free.
Findings network_findings(const Config& config);

} // namespace troupe::app
