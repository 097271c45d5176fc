/// Labels of rows, checked because data may contain invalid ones.
#pragma once

#include "core/fail.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace troupe::cpu {

/// Returns the number of labels that are not ignored (negative). Errors: data, for a label that is
/// not a class.
inline Result<std::size_t> count_labels(std::span<const std::int32_t> labels, std::size_t classes) {
  std::size_t count = 0;
  for (const auto label : labels) {
    if (label >= 0 && static_cast<std::size_t>(label) >= classes)
      return fail(Errc::data, "a label is {}, but there are {} classes", label, classes);
    count += label >= 0 ? 1 : 0;
  }
  return count;
}

} // namespace troupe::cpu
