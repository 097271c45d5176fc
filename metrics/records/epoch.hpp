/// The record of an epoch: a line of epochs.jsonl.
#pragma once

#include "metrics/records/field.hpp"
#include "metrics/records/shared_metrics.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <tuple>

namespace troupe::metrics {

/// The end of an epoch. Test values are empty if it was not evaluated.
struct EpochRecord {
  std::int64_t epoch = 0;
  std::optional<std::int64_t> step = {}; ///< its last step; empty in records of earlier versions
  std::chrono::system_clock::time_point time = {}; ///< when it ended
  double train_loss = 0;
  std::optional<double> train_accuracy = {};
  std::optional<double> test_loss = {};
  std::optional<double> test_accuracy = {};
  double seconds = 0;                      ///< including evaluation
  std::optional<double> test_seconds = {}; ///< of the evaluation only
};

template <>
inline constexpr auto fields_of<EpochRecord> = std::tuple{
    field("epoch", &EpochRecord::epoch),
    field("step", &EpochRecord::step),
    field("time", &EpochRecord::time),
    field("train_loss", &EpochRecord::train_loss, {.tag = "epoch/train_loss"}),
    field("train_accuracy", &EpochRecord::train_accuracy, {.tag = "epoch/train_accuracy"}),
    field("test_loss", &EpochRecord::test_loss,
          {.metric = names::loss, .label = "test", .tag = "test/loss"}),
    field("test_accuracy", &EpochRecord::test_accuracy,
          {.metric = names::accuracy, .label = "test", .tag = "test/accuracy"}),
    field("seconds", &EpochRecord::seconds, {.tag = "epoch/seconds"}),
    field("test_seconds", &EpochRecord::test_seconds,
          {.metric = {"troupe_evaluation_seconds", names::histogram, names::leader,
                      "Time of an evaluation"}})};

} // namespace troupe::metrics
