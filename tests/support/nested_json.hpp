/// JSON nested so deeply that copying or writing its value overflows the stack.
#pragma once

#include <string>

namespace troupe::testing {

inline std::string deeply_nested(std::size_t levels = 100'000) {
  return std::string(levels, '[') + std::string(levels, ']');
}

} // namespace troupe::testing
