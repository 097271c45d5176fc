/// The record of a checkpoint.
#pragma once

#include "core/error.hpp"
#include "metrics/records/field.hpp"
#include "metrics/records/shared_metrics.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>

namespace troupe::metrics {

/// A checkpoint that was written or has failed.
struct CheckpointRecord {
  std::int64_t step = 0;
  std::string path = {};
  double seconds = 0;                 ///< to write it
  double pause_seconds = 0;           ///< in which training paused for it
  std::uint64_t bytes = 0;            ///< of all its files
  std::optional<Error> failure = {};  ///< empty: it was written, or needed no writing
  std::string parameters_sha256 = {}; ///< of the parameters in canonical layout
};

template <>
inline constexpr auto fields_of<CheckpointRecord> = std::tuple{
    field("step", &CheckpointRecord::step, {.metric = names::checkpoint_step}),
    field("path", &CheckpointRecord::path),
    field("seconds", &CheckpointRecord::seconds,
          {.metric = {"troupe_checkpoint_seconds", names::histogram, names::leader,
                      "Time to write a checkpoint, while training continues"}}),
    field("pause_seconds", &CheckpointRecord::pause_seconds,
          {.metric = {"troupe_save_seconds", names::histogram, names::leader,
                      "Time for which training waits for a checkpoint: while it is copied, or "
                      "while the previous one is still being written"}}),
    field("bytes", &CheckpointRecord::bytes,
          {.metric = {"troupe_checkpoint_bytes", names::gauge, names::leader,
                      "Size of the last checkpoint, files of all ranks"}}),
    field("failure", &CheckpointRecord::failure),
    field("parameters_sha256", &CheckpointRecord::parameters_sha256)};

} // namespace troupe::metrics
