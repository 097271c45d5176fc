/// train.recompute as a typed struct.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace troupe {

/// The activations that backward recomputes instead of keeping.
struct RecomputeConfig {
  enum class Kind : std::uint8_t {
    none,
    block, ///< those inside every unit (residual block); activations between units are kept
    names, ///< those of the named units
    fit,   ///< as few as possible, so that all activations fit into fit_bytes
  };
  Kind kind = Kind::none;
  std::vector<std::string> names;
  std::uint64_t fit_bytes = 0;

  bool operator==(const RecomputeConfig&) const = default;
};

} // namespace troupe
