/// What actors report of a run: plain values that registry, run folder and console take.
#pragma once

#include "troupe/core/device.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::metrics {

/// One step that all ranks have committed. Means are over ranks unless said otherwise.
struct StepRecord {
  std::int64_t step = 0;  ///< counted from 1: this many are committed
  std::int64_t epoch = 0; ///< counted from 1: the one that the step belongs to
  double loss = 0;        ///< mean over the global batch
  double accuracy = 0;    ///< share of the global batch that was classified right, 0 to 1
  double learning_rate = 0;
  std::int64_t samples = 0;           ///< of the global batch
  double seconds = 0;                 ///< since the step before was committed
  double data_wait_seconds = 0;       ///< in which a device waited for a batch
  std::uint64_t collective_bytes = 0; ///< sent, summed over ranks
  double collective_seconds = 0;
  double overlap_ratio = 0; ///< the part of collective_seconds in which the rank also computed
};

/// The end of an epoch. Test values are empty when it was not evaluated.
struct EpochRecord {
  std::int64_t epoch = 0; ///< counted from 1: the one that has ended
  double train_loss = 0;
  double train_accuracy = 0;
  std::optional<double> test_loss = {};
  std::optional<double> test_accuracy = {};
  double seconds = 0;            ///< of training, without evaluation
  double samples_per_second = 0; ///< of training
  double evaluation_seconds = 0;
};

/// What one worker used.
struct WorkerSummary {
  int rank = 0;
  std::string device;    ///< DeviceInfo::name
  MemoryUse memory;      ///< now and at the peak, by kind
  double busy_ratio = 0; ///< the part of the run in forward and backward
};

enum class RunStatus : std::uint8_t { completed, stopped, failed };

std::string_view to_string(RunStatus status);

/// What is known of a run before its first step.
struct RunInfo {
  std::string name = "run";
  std::string model;   ///< "resnet20"
  std::string dataset; ///< "cifar10"
  std::string strategy = "single";
  std::string precision = "fp32";
  int world_size = 1;
  std::int64_t batch_size = 0; ///< global
  std::int64_t epochs = 0;
  std::int64_t steps_per_epoch = 0;
  std::int64_t total_steps = 0;  ///< at which the run ends
  std::int64_t resumed_step = 0; ///< the step of the checkpoint that it goes on from; 0: none
  std::string host;
  std::string version;
  std::chrono::system_clock::time_point started = {};
};

/// How a run ended. Counts and times are of this process; steps and epochs of the whole run.
struct RunSummary {
  RunInfo info;
  RunStatus status = RunStatus::completed;
  std::string error = {}; ///< what failed; empty unless status is failed
  std::int64_t epochs = 0;
  std::int64_t steps = 0;
  std::int64_t samples = 0;
  double seconds = 0;            ///< first step to last, with evaluation
  double samples_per_second = 0; ///< of training, without evaluation
  double loss = 0;               ///< of the last epoch that ended, else of the last step
  double accuracy = 0;           ///< on the test set; on the training set when there was no test
  double overlap_ratio = 0;
  std::int64_t checkpoints = 0;
  std::int64_t checkpoint_failures = 0;
  std::string parameters_sha256;
  std::vector<WorkerSummary> workers;
};

} // namespace troupe::metrics
