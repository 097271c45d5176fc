/// The config section parallel.diloco: replica groups of workers, whose parameter changes in a
/// round are pseudo-gradients for an outer optimizer.
#pragma once

#include "core/choice.hpp"
#include "core/config/strategies.hpp"

#include <chrono>
#include <cstdint>
#include <optional>

namespace troupe {

/// Encoding of a round's pseudo-gradients on the network; int8 and int4 as in
/// core/device/quantized.hpp.
enum class Compression : std::uint8_t { none, fp16, int8, int4 };

template <>
inline constexpr auto choice_words<Compression> = word_list("none", "fp16", "int8", "int4");

struct DilocoConfig {
  std::int64_t steps = 16;                ///< of a round
  std::int64_t group_size = 1;            ///< workers of a replica group, neighbours by rank
  StrategyKind inner = StrategyKind::ddp; ///< how they share their state
  double lr = 0.7;
  double momentum = 0.9;
  bool nesterov = true;
  std::int64_t fragments = 1; ///< of the parameters, each with its own rounds
  std::int64_t overlap = 0;   ///< steps made while a fragment is in flight
  Compression compress = Compression::none;
  bool error_feedback = true;            ///< adds the rounding error to the next round
  std::optional<std::int64_t> quorum;    ///< replica groups with which a round may end; unset: all
  std::chrono::milliseconds grace{1000}; ///< wait for the late ones after the quorum

  bool operator==(const DilocoConfig&) const = default;
};

} // namespace troupe
