/// The record of a membership change: a line of recoveries.jsonl.
#pragma once

#include "metrics/records/field.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <tuple>

namespace troupe::metrics {

/// A generation that began during the run because nodes were lost or joined. Times in seconds, by
/// the leader's clock.
struct RecoveryRecord {
  std::chrono::system_clock::time_point time; ///< end of its first step
  std::int64_t generation = 0;
  std::string reason = {};
  bool is_loss = false;
  std::int64_t step = 0;           ///< its first step, from 0
  std::int64_t steps_repeated = 0; ///< committed before, in an earlier generation
  std::int32_t world_size = 0;
  double detect = 0;     ///< from the last sign of life of a lost node until it was declared lost
  double halt = 0;       ///< from then until all nodes were connected again
  double heal = 0;       ///< until all had the state, as far as the leader sent or received it
  double connect = 0;    ///< until their ranks were connected
  double first_step = 0; ///< until that step was committed

  double seconds() const { return detect + halt + heal + connect + first_step; }
};

template <>
inline constexpr auto fields_of<RecoveryRecord> =
    std::tuple{field("generation", &RecoveryRecord::generation),
               field("time", &RecoveryRecord::time),
               field("reason", &RecoveryRecord::reason),
               field("is_loss", &RecoveryRecord::is_loss),
               field("step", &RecoveryRecord::step),
               field("steps_repeated", &RecoveryRecord::steps_repeated),
               field("world_size", &RecoveryRecord::world_size),
               field("seconds", &RecoveryRecord::seconds),
               field("detect_seconds", &RecoveryRecord::detect),
               field("halt_seconds", &RecoveryRecord::halt),
               field("heal_seconds", &RecoveryRecord::heal),
               field("connect_seconds", &RecoveryRecord::connect),
               field("first_step_seconds", &RecoveryRecord::first_step)};

} // namespace troupe::metrics
