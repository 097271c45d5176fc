/// Values of train.optimizer.name.
#pragma once

#include "core/choice.hpp"

#include <cstdint>

namespace troupe {

enum class OptimizerKind : std::uint8_t { sgd, adam, adamw };

template <>
inline constexpr auto choice_words<OptimizerKind> = word_list("sgd", "adam", "adamw");

} // namespace troupe
