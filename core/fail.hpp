/// Short ways to make and hand on errors.
#pragma once

#include "error.hpp"

#include <fmt/format.h>

namespace troupe {

/// Makes an unexpected Error from a format string: `return fail(Errc::io, "cannot open {}", path);`
template <class... Args>
tl::unexpected<Error> fail(Errc code, fmt::format_string<Args...> format, Args&&... args) {
  return failure(Error{code, fmt::format(format, std::forward<Args>(args)...)});
}

} // namespace troupe

/// Returns the error of a Result-valued expression from the enclosing function.
#define TROUPE_TRY(expression)                                                                     \
  do {                                                                                             \
    if (auto troupe_status_ = (expression); !troupe_status_)                                       \
      return ::troupe::failure(std::move(troupe_status_).error());                                 \
  } while (false)
