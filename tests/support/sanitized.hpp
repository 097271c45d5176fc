/// Whether the program is built with a sanitizer: bounds on memory do not hold then.
#pragma once

namespace troupe::testing {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool is_sanitized() {
  return true;
}
#else
constexpr bool is_sanitized() {
  return false;
}
#endif

} // namespace troupe::testing
