/// The config section parallel.local_sgd: training in rounds, between which workers do not
/// synchronize.
#pragma once

#include "core/choice.hpp"

#include <cstdint>

namespace troupe {

/// Treatment of the optimizer state at the end of a round: each rank keeps its own, it is reset
/// to zero, or it is averaged over all ranks.
enum class OptimizerAtRound : std::uint8_t { kept, reset, averaged };

template <>
inline constexpr auto choice_words<OptimizerAtRound> = word_list("kept", "reset", "averaged");

struct LocalSgdConfig {
  std::int64_t steps = 16; ///< of a round
  std::int64_t after = 0;  ///< steps before the first round, in which workers synchronize every
                           ///< step
  OptimizerAtRound momentum = OptimizerAtRound::kept;

  bool operator==(const LocalSgdConfig&) const = default;
};

} // namespace troupe
