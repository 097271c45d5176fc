/// Shorthands to create and propagate errors.
#pragma once

#include "core/error.hpp"

#include <fmt/format.h>

namespace troupe {

/// Makes an unexpected Error from a format string: `return fail(Errc::io, "cannot open {}", path);`
template <class... Args>
tl::unexpected<Error> fail(Errc code, fmt::format_string<Args...> format, Args&&... args) {
  return failure(Error{code, fmt::format(format, std::forward<Args>(args)...)});
}

/// Makes an error whose cause is not in this process.
template <class... Args>
tl::unexpected<Error> fail(Whose whose, Errc code, fmt::format_string<Args...> format,
                           Args&&... args) {
  return failure(
      Error{code, fmt::format(format, std::forward<Args>(args)...), /*where=*/{}, whose});
}

} // namespace troupe

/// TROUPE_TRY(status): returns the error, if any, from the enclosing function.
/// TROUPE_TRY(auto value, result): likewise; otherwise declares (or assigns) the value of the
/// Result. Expands to two statements: not for an `if` without braces.
#define TROUPE_TRY(first, ...)                                                                     \
  TROUPE_TRY_STATUS##__VA_OPT__(_OR_VALUE)##_(first __VA_OPT__(, ) __VA_ARGS__)

#define TROUPE_TRY_STATUS_(expression)                                                             \
  do {                                                                                             \
    if (auto troupe_status_ = (expression); !troupe_status_)                                       \
      return ::troupe::failure(std::move(troupe_status_).error());                                 \
  } while (false)

#define TROUPE_TRY_STATUS_OR_VALUE_(declaration, ...)                                              \
  TROUPE_TRY_VALUE_(TROUPE_TRY_NAME_(__LINE__), declaration, __VA_ARGS__)
#define TROUPE_TRY_VALUE_(name, declaration, ...)                                                  \
  auto name = __VA_ARGS__;                                                                         \
  if (!name)                                                                                       \
    return ::troupe::failure(std::move(name).error());                                             \
  declaration = *std::move(name)
#define TROUPE_TRY_NAME_(line) TROUPE_TRY_JOIN_(troupe_result_, line)
#define TROUPE_TRY_JOIN_(a, b) a##b
