/// Environment variables that a test sets.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>

namespace troupe::testing {

/// Sets an environment variable, and restores its value when destroyed. Set it when no other thread
/// reads the environment.
class EnvironmentVariable {
public:
  EnvironmentVariable(const char* name, const char* value) : name_{name} {
    if (const auto* const before = std::getenv(name))
      before_ = before;
    setenv(name, value, 1);
  }
  EnvironmentVariable(const EnvironmentVariable&) = delete;
  EnvironmentVariable& operator=(const EnvironmentVariable&) = delete;
  ~EnvironmentVariable() { before_ ? setenv(name_, before_->c_str(), 1) : unsetenv(name_); }

private:
  const char* name_;
  std::optional<std::string> before_;
};

} // namespace troupe::testing
