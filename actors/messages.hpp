/// Messages between roles. Structs with `fields` or `inspect` can be sent to other processes; the
/// others stay within a process (type_ids.hpp lists them).
#pragma once

#include "actors/inspect.hpp"
#include "core/checkpoint/manifest.hpp"
#include "core/device/executable.hpp"
#include "data/slice_assignment.hpp"
#include "metrics/records/checkpoint.hpp"
#include "metrics/records/step.hpp"
#include "metrics/records/worker.hpp"
#include "metrics/registry/job_phase.hpp"
#include "training/input/micro_batch.hpp"
#include "training/state/snapshot.hpp"
#include "training/step_results.hpp"
#include "training/strategies/async/messages.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace troupe::actors {

// A worker's tasks use the terms of training/.
using training::index_of;
using training::Pass;
using training::PassMode;

/// A WORKER's request for the parameters of a bucket.
struct ParameterRequest {
  PassMode pass_mode = PassMode::training;
  std::int64_t index = 0; ///< training: the pass; evaluation: the batch of the test set
  Phase phase = Phase::forward;
  UnitId unit = 0; ///< the bucket's first in this phase; in `released`: its last
};

/// Start and end on a device's clock.
using Span = std::pair<std::chrono::nanoseconds, std::chrono::nanoseconds>;

/// A rank that is ready, and the data that it would train on.
struct RankInfo {
  std::int32_t rank = 0;
  std::string metrics;      ///< HOST:PORT of its node's endpoint; empty: off
  std::string device;       ///< name of the device
  std::int64_t samples = 0; ///< number of samples in the training set
  std::string data = {};    ///< fingerprint of the training set
  // Properties of the device; 0: unknown.
  std::uint64_t memory_bytes = 0;
  double peak_operations = 0; ///< operations per second, in the run's precision

  auto fields() {
    return std::tie(rank, metrics, device, samples, data, memory_bytes, peak_operations);
  }
};

using WorkerSummaries = std::vector<metrics::WorkerSummary>;

/// The number of rows that count for a loss, and of those classified correctly; `correct` is empty
/// for models that do not classify.
struct Right {
  std::int64_t rows = 0;
  std::optional<std::int64_t> correct = {};

  void add(const Right& more) {
    rows += more.rows;
    if (more.correct)
      correct = correct.value_or(0) + *more.correct;
  }
  std::optional<double> ratio() const {
    if (!correct || rows == 0)
      return std::nullopt;
    return static_cast<double>(*correct) / static_cast<double>(rows);
  }

  auto fields() { return std::tie(rows, correct); }
};

/// A WORKER's measurements of its part of a step.
struct WorkerStep {
  std::int64_t step = 0;
  double loss = 0; ///< over the rank's samples; the mean over ranks is the loss of the global batch
  Right right = {};
  std::int64_t samples = 0;
  std::chrono::nanoseconds begin{},
      end{};                            ///< first forward to last backward, on the device's clock
  std::chrono::nanoseconds busy{};      ///< time in forward and backward
  std::chrono::nanoseconds data_wait{}; ///< time in which the device waited for a batch
  std::uint64_t statistics_bytes = 0;   ///< sent for synchronized batch norms
  std::int64_t ready_batches = 0;       ///< filled and unread when the step ended

  /// Adds another slice of the same step, by the same rank.
  void add(const WorkerStep& more) {
    if (samples == 0)
      begin = more.begin;
    loss += more.loss;
    right.add(more.right);
    samples += more.samples;
    end = more.end;
    busy += more.busy;
    data_wait += more.data_wait;
    ready_batches = more.ready_batches;
  }

  auto fields() {
    return std::tie(step, loss, right, samples, begin, end, busy, data_wait, statistics_bytes,
                    ready_batches);
  }
};

/// Bytes and time of a rank's collectives of one kind in a step.
struct RankCollective {
  std::uint64_t bytes = 0; ///< sent
  std::chrono::nanoseconds time{};

  auto fields() { return std::tie(bytes, time); }
};

using metrics::RoundTaken;
using metrics::SliceRead;

/// One rank's committed step.
struct StepReport {
  std::int32_t rank = 0;
  WorkerStep worker = {};
  std::array<RankCollective, metrics::collective_kind_names.size()> collectives = {}; ///< by kind
  std::chrono::nanoseconds overlapped{}; ///< part of their time in which the rank also computed
  std::chrono::nanoseconds optimizer{};  ///< time in the optimizer while the rank did not compute
  MemoryUse memory = {};
  double squared_norm = -1;               ///< as in training::StepResults
  metrics::LossScaling loss_scaling = {}; ///< after the step; equal on all ranks
  double drift = -1;             ///< as in metrics::StepRecord; below 0: ranks were not averaged
  std::uint64_t round_bytes = 0; ///< the part of the collective bytes that rounds sent
  std::vector<RoundTaken> rounds = {}; ///< rounds that this rank has summed
  std::vector<SliceRead> reads = {};   ///< of its shard, in asynchronous training

  auto fields() {
    return std::tie(rank, worker, collectives, overlapped, optimizer, memory, squared_norm,
                    loss_scaling, drift, round_bytes, rounds, reads);
  }
};

/// One rank's part of an evaluation on the test set.
struct EvaluationReport {
  std::int32_t rank = 0;
  std::int64_t step = 0;
  double loss_sum = 0; ///< over the rows that count
  Right right = {};

  auto fields() { return std::tie(rank, step, loss_sum, right); }
};

/// The use of a chunk of the state.
enum class ChunkUse : std::uint8_t {
  checkpoint,  ///< CHECKPOINTER writes it
  digest,      ///< rank 0: CHECKPOINTER hashes the parameters in it
  sample,      ///< rank 0: GENERATOR takes the parameters in it
  contribution ///< another rank, at the same time: sends rank 0 its shard
};

template <class Inspector>
bool inspect(Inspector& f, ChunkUse& x) {
  return inspect_enum(f, x, ChunkUse::contribution);
}

/// The outcome of writing a rank's part of a checkpoint, or one chunk of it.
struct ShardOutcome {
  std::int32_t rank = 0;
  std::int64_t step = 0;
  bool is_last = true;                ///< it was the last chunk
  std::vector<FileRecord> files = {}; ///< those written, in the outcome of the last chunk
  std::optional<Error> failure = {};  ///< empty: success
  std::string parameters_sha256 = {}; ///< if all parameters passed through this rank
  double seconds = 0;                 ///< spent on writing

  auto fields() {
    return std::tie(rank, step, is_last, files, failure, parameters_sha256, seconds);
  }
};

/// The parts of a checkpoint.
struct CheckpointShards {
  std::int64_t step = 0;
  std::vector<ShardOutcome> parts = {}; ///< by rank
  /// Test metrics stored with the checkpoint.
  std::map<std::string, std::string> results = {};
  bool is_best = false;

  auto fields() { return std::tie(step, parts, results, is_best); }
};

} // namespace troupe::actors

namespace troupe {

// Instead of members `fields`, for structs of folders that send no messages.
inline auto fields(FileRecord& x) {
  return std::tie(x.name, x.bytes, x.sha256);
}
inline auto fields(MemoryUse& x) {
  return std::tie(x.current, x.peak, x.total, x.total_peak);
}
inline auto fields(LossScaleState& x) {
  return std::tie(x.scale, x.found_inf, x.growth_tracker, x.skipped, x.taken, x.grown);
}
inline auto fields(Where& x) {
  return std::tie(x.node, x.actor, x.rank, x.step);
}

namespace training {

inline auto fields(StepResults& x) {
  return std::tie(x.loss_scale, x.squared_norm, x.mean_square, x.square_of_mean);
}

} // namespace training

namespace nn {

template <class Inspector>
bool inspect(Inspector& f, PassMode& x) {
  return actors::inspect_enum(f, x, PassMode::evaluation);
}

} // namespace nn

namespace metrics {

template <class Inspector>
bool inspect(Inspector& f, JobPhase& x) {
  return actors::inspect_enum(f, x, static_cast<JobPhase>(job_phase_names.size() - 1));
}

} // namespace metrics

/// The longest error message that is sent; longer ones are truncated.
constexpr std::size_t most_error_bytes = 16 << 10;

template <class Inspector>
bool inspect(Inspector& f, Error& x) {
  auto get = [&x] { return static_cast<std::uint8_t>(x.code); };
  auto get_message = [&x] { return x.message.substr(0, most_error_bytes); };
  auto set_message = [&x](std::string message) {
    x.message = std::move(message);
    return true;
  };
  auto set = [&x](std::uint8_t code) {
    x.code = static_cast<Errc>(code);
    return true;
  };
  auto get_whose = [&x] { return static_cast<std::uint8_t>(x.whose); };
  auto set_whose = [&x](std::uint8_t whose) {
    x.whose = static_cast<Whose>(whose);
    return x.whose <= Whose::between;
  };
  return f.object(x).fields(f.field("code", get, set), f.field("message", get_message, set_message),
                            f.field("where", x.where), f.field("whose", get_whose, set_whose));
}

} // namespace troupe
