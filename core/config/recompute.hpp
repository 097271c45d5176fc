/// train.recompute as a typed struct.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace troupe {

/// Which activations backward makes again instead of keeping them.
struct RecomputeConfig {
  enum class Kind : std::uint8_t {
    none,
    block, ///< those inside every unit (residual block): what goes from unit to unit is kept
    names, ///< those of the units named
    fit,   ///< as few as let all activations fit into fit_bytes
  };
  Kind kind = Kind::none;
  std::vector<std::string> names;
  std::uint64_t fit_bytes = 0;

  bool operator==(const RecomputeConfig&) const = default;
};

} // namespace troupe
