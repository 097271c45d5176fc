/// The one list of what Prometheus can read of a run. Dashboards and alert rules use only these.
/// What belongs to the whole job (loss, steps, checkpoints) is told by its leader alone; every node
/// tells its phase, and what its own workers and actors use.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace troupe::metrics {

enum class MetricType : std::uint8_t { counter, gauge, histogram };

struct MetricName {
  std::string_view name; ///< ends in its base unit, or in _total when it is counted
  MetricType type;
  std::string_view help;
  std::array<std::string_view, 5> labels = {}; ///< those that are not used stay empty
};

namespace names {

using enum MetricType;
using M = MetricName;

inline constexpr M build_info{"troupe_build_info", gauge, "Always 1", {"version"}};
inline constexpr M run_info{
    "troupe_run_info", gauge, "Always 1", {"run", "model", "dataset", "strategy", "precision"}};
inline constexpr M phase{
    "troupe_phase", gauge, "1: what the process does; 0: the others", {"phase"}};
inline constexpr M last_error{"troupe_last_error", gauge, "1: why the job has failed", {"kind"}};
inline constexpr M ready{"troupe_ready", gauge, "Whether /readyz answers 200"};
inline constexpr M start_time{"troupe_start_time_seconds", gauge, "Start of the run, Unix time"};
inline constexpr M world_size{"troupe_world_size", gauge, "Workers that train"};

// In the last step (set=train) and the last evaluation (set=test).
inline constexpr M loss{"troupe_loss", gauge, "Mean loss", {"set"}};
inline constexpr M accuracy{"troupe_accuracy_ratio", gauge, "Part classified right", {"set"}};
inline constexpr M learning_rate{"troupe_learning_rate", gauge, "Learning rate of the last step"};
inline constexpr M epoch{"troupe_epoch", gauge, "Epoch under way, counted from 1"};
inline constexpr M step{"troupe_step", gauge, "Steps of the run, with those before a resume"};
inline constexpr M last_step{"troupe_last_step", gauge, "Step at which the run ends"};

inline constexpr M steps{"troupe_steps_total", counter, "Steps of this process"};
inline constexpr M samples{"troupe_samples_total", counter, "Samples trained on by this process"};
inline constexpr M step_time{"troupe_step_seconds", histogram, "From commit to commit"};
inline constexpr M data_wait{"troupe_data_wait_seconds_total", counter,
                             "Waiting for batches, of the rank that waited longest"};
inline constexpr M unreadable_samples{
    "troupe_unreadable_samples_total", counter,
    "Samples whose file this node could not read: replaced, or not counted"};
inline constexpr M collective_bytes{"troupe_collective_bytes_total", counter,
                                    "Moved by collectives, all ranks"};
inline constexpr M collective_time{"troupe_collective_seconds_total", counter,
                                   "Time in collectives, mean over ranks"};
inline constexpr M overlap{"troupe_overlap_ratio", gauge,
                           "Part of the last step's collectives hidden behind computing"};

// With loss scaling (precision amp_fp16).
inline constexpr M loss_scale{"troupe_loss_scale", gauge, "Of the next step; 1 without scaling"};
inline constexpr M skipped_steps{"troupe_skipped_steps_total", counter,
                                 "Steps of the run whose gradients were not finite: each one "
                                 "lowered the scale"};
inline constexpr M scale_growths{"troupe_loss_scale_growths_total", counter,
                                 "Times the run raised the scale"};

// Of devices, by kind as MemoryKind; the totals are of all kinds but pinned, at
// one time.
inline constexpr M memory{"troupe_memory_bytes", gauge, "Memory in use", {"rank", "kind"}};
inline constexpr M memory_peak{"troupe_memory_peak_bytes", gauge, "Peak", {"rank", "kind"}};
inline constexpr M memory_total{"troupe_memory_total_bytes", gauge, "In use, all kinds", {"rank"}};
inline constexpr M memory_total_peak{
    "troupe_memory_total_peak_bytes", gauge, "Peak, all kinds", {"rank"}};
inline constexpr M busy{
    "troupe_worker_busy_ratio", gauge, "Part of the run in forward and backward", {"rank"}};

// Of all actors of one role.
inline constexpr M mailbox_size{"troupe_mailbox_size", gauge, "Waiting messages", {"actor"}};
inline constexpr M mailbox_messages{
    "troupe_mailbox_messages_total", counter, "Messages taken from mailboxes", {"actor"}};
inline constexpr M mailbox_time{
    "troupe_mailbox_seconds_total", counter, "Time of messages in mailboxes", {"actor"}};
inline constexpr M processing_time{
    "troupe_processing_seconds_total", counter, "Time in message handlers", {"actor"}};

inline constexpr M checkpoints{"troupe_checkpoints_total", counter, "Checkpoints written"};
inline constexpr M checkpoint_failures{"troupe_checkpoint_failures_total", counter,
                                       "Checkpoints that could not be written"};
inline constexpr M checkpoint_time{"troupe_checkpoint_seconds", histogram,
                                   "Time to write one, while training goes on"};
inline constexpr M checkpoint_step{"troupe_checkpoint_step", gauge, "Step of the last one"};

// clang-format off
inline constexpr std::array all = {
    build_info, run_info, phase, last_error, ready, start_time, world_size, loss, accuracy, learning_rate, epoch,
    step, last_step, steps, samples, step_time, data_wait, unreadable_samples, collective_bytes, collective_time,
    overlap, loss_scale, skipped_steps, scale_growths, memory, memory_peak, memory_total,
    memory_total_peak, busy, mailbox_size, mailbox_messages, mailbox_time, processing_time, checkpoints, checkpoint_failures,
    checkpoint_time, checkpoint_step};
// clang-format on

} // namespace names

} // namespace troupe::metrics
