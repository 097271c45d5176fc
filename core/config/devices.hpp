/// The config section devices: the workers of this node.
#pragma once

#include "core/choice.hpp"

#include <cstdint>

namespace troupe {

enum class DeviceKind : std::uint8_t { automatic, cpu, cuda };

template <>
inline constexpr auto choice_words<DeviceKind> = word_list("auto", "cpu", "cuda");

enum class Engine : std::uint8_t {
  fastest,
  interpreter, ///< the slow reference, for checking
};

template <>
inline constexpr auto choice_words<Engine> = word_list("fastest", "interpreter");

/// On CUDA, whether norms are fused with the convolutions, additions and casts around them, and
/// whether cuDNN computes attention.
enum class Fusion : std::uint8_t {
  full,
  basic, ///< no, for comparisons
};

template <>
inline constexpr auto choice_words<Fusion> = word_list("full", "basic");

struct DevicesConfig {
  DeviceKind kind = DeviceKind::automatic;
  std::int64_t count = 1; ///< workers on this node
  std::int64_t threads_per_worker =
      0; ///< 0: the cores that this process may run on, divided by count
  Engine engine = Engine::fastest;
  Fusion fusion = Fusion::full;

  bool operator==(const DevicesConfig&) const = default;
};

} // namespace troupe
