/// The list of all metrics. Dashboards and alert rules use only these, and docs/metrics.md is
/// generated from it. Only the leader exports metrics of the whole job (loss, steps, checkpoints).
/// Every node exports its phase and the usage of its workers and actors.
#pragma once

#include "metrics/registry/names_job.hpp"
#include "metrics/registry/names_machine.hpp"
#include "metrics/registry/names_speed.hpp"

namespace troupe::metrics::names {

// clang-format off
inline constexpr std::array all = {
    build_info, run_info, phase, last_error, ready, start_time, world_size, generation, heartbeat_time,
    loss, accuracy, gradient_norm, drift, round_bytes, staleness, item_time, lease_time, learning_rate, epoch, step, last_step, time_left,
    evaluation_time,
    loss_scale, skipped_steps, scale_growths,
    recoveries, recovery_time,
    checkpoints, checkpoint_failures, checkpoint_time, save_time, checkpoint_step, checkpoint_interval,
    checkpoint_written, checkpoint_bytes,
    steps, samples, tokens, step_time, data_wait, operations, peak_operations,
    collective_bytes, collective_time, overlap,
    rank_time, rank_steps, busy, ready_batches, loader_time, loader_batches, decode_time, unreadable_samples,
    mailbox_size, mailbox_messages, mailbox_time, processing_time,
    memory, memory_peak, memory_total, memory_total_peak, memory_limit, host_memory, host_memory_limit,
    gpu_busy, gpu_power, gpu_temperature, gpu_clock, gpu_memory, gpu_memory_total,
    process_cpu, process_resident, process_virtual, process_start, process_open_files, process_most_files,
    process_threads};
// clang-format on

} // namespace troupe::metrics::names
