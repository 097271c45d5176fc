/// The config section checkpoint: saving and resuming.
#pragma once

#include "core/choice.hpp"
#include "core/units.hpp"

#include <cstdint>
#include <string>

namespace troupe {

/// The checkpoint that a run resumes from.
struct ResumeConfig {
  enum class Kind : std::uint8_t {
    automatic, ///< the run's newest valid one, if any
    never,
    path,
  };
  Kind kind = Kind::automatic;
  std::string path = {};

  bool operator==(const ResumeConfig&) const = default;
};

enum class CheckpointState : std::uint8_t {
  full,    ///< rank 0 writes all of it
  sharded, ///< every rank writes its shard
};

template <>
inline constexpr auto choice_words<CheckpointState> = word_list("full", "sharded");

/// The criterion of the best checkpoint.
enum class BestMetric : std::uint8_t { none, accuracy, loss };

template <>
inline constexpr auto choice_words<BestMetric> = word_list("none", "accuracy", "loss");

struct CheckpointConfig {
  Interval every = {Interval::Unit::epochs, 1}; ///< "N epochs", "N steps", "never"
  std::int64_t keep = 3;
  ResumeConfig resume;
  CheckpointState state = CheckpointState::full;
  BestMetric best = BestMetric::none;

  bool is_sharded() const { return state == CheckpointState::sharded; }

  bool operator==(const CheckpointConfig&) const = default;
};

} // namespace troupe
