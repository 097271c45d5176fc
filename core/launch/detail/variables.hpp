/// Environment variables, with errors that name the wrong variable and its allowed values.
#pragma once

#include "core/launch/launcher.hpp"

#include <array>
#include <initializer_list>

namespace troupe {

/// Allowed range of a number, and the reason for it.
struct Bounds {
  std::int64_t least = 0, most = 0;
  std::string why = {};
};

/// Names of two variables, of which the first is preferred.
using Either = std::array<const char*, 2>;

class Variables {
public:
  Variables(std::string launcher, const Environment& environment)
      : launcher_{std::move(launcher)}, environment_{environment} {}

  bool has(const std::string& name) const { return environment_(name).has_value(); }
  /// Precondition: the variable is set.
  std::string text(const std::string& name) const { return *environment_(name); }
  std::string text_or(const std::string& name, const std::string& otherwise) const {
    return environment_(name).value_or(otherwise);
  }
  /// Returns the name of the first variable that is set. Precondition: one is.
  std::string first(const Either& names) const { return names[has(names[0]) ? 0 : 1]; }

  /// Errors: invalid_input; names all missing variables.
  Status require(std::initializer_list<std::string> names) const;
  /// Precondition: the variable is set.
  Result<std::int64_t> number(const std::string& name, const Bounds& bounds) const;
  Result<std::int64_t> number_or(const std::string& name, std::int64_t otherwise,
                                 const Bounds& bounds) const;
  tl::unexpected<Error> wrong(const std::string& what) const;

private:
  std::string launcher_;
  const Environment& environment_;
};

} // namespace troupe
