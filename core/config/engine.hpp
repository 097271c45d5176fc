/// Values of devices.engine.
#pragma once

#include "core/choice.hpp"

#include <cstdint>

namespace troupe {

enum class Engine : std::uint8_t {
  fastest,
  interpreter, ///< the slow reference, for checking
};

template <>
inline constexpr auto choice_words<Engine> = word_list("fastest", "interpreter");

} // namespace troupe
