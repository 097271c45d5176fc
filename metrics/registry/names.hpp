/// The list of all metrics. Dashboards and alert rules use only these, and docs/metrics.md is
/// generated from it. Only the leader exports metrics of the whole job (loss, steps, checkpoints).
/// Every node exports its phase and the usage of its workers and actors.
#pragma once

#include "metrics/records/shared_metrics.hpp"

#include <vector>

namespace troupe::metrics::names {

/// Returns the metrics that are named here, and those of the fields of records and samples
/// (metrics/records/, metrics/machine/, registry.hpp), each once.
const std::vector<MetricName>& all();

// Identity of the job.
inline constexpr M build_info =
    metric("troupe_build_info", gauge, every_node, "Always 1", "version");
inline constexpr M run_info = metric("troupe_run_info", gauge, every_node, "Always 1", "run",
                                     "model", "dataset", "strategy", "precision");
inline constexpr M phase = metric("troupe_phase", gauge, every_node,
                                  "1: the process's current phase; 0: the others", "phase");
inline constexpr M last_error = metric("troupe_last_error", gauge, every_node,
                                       "1: the kind of error with which the job failed", "kind");
inline constexpr M ready{"troupe_ready", gauge, every_node, "Whether /readyz answers 200"};
inline constexpr M start_time{"troupe_start_time_seconds", gauge, every_node,
                              "Start of the run, Unix time"};
inline constexpr M world_size{"troupe_world_size", gauge, every_node, "Workers that train"};
inline constexpr M generation{
    "troupe_generation", gauge, every_node,
    "Number of the generation, which changes when nodes are lost or join"};
inline constexpr M heartbeat_time = metric(
    "troupe_heartbeat_time_seconds", gauge, leader,
    "Time of the last message from a node to the leader, Unix time; each node sends one per second",
    "peer");

// Progress.
inline constexpr M epoch{"troupe_epoch", gauge, leader, "Current epoch, counted from 1"};
inline constexpr M step{"troupe_step", gauge, leader,
                        "Steps of the run, including those before a resume"};
inline constexpr M last_step{"troupe_last_step", gauge, leader, "Step at which the run ends"};
inline constexpr M time_left{
    "troupe_time_left_seconds", gauge, leader,
    "Time until the run ends, at the mean speed of this process, including evaluations and saving"};

// With loss scaling (precision amp_fp16).
inline constexpr M loss_scale{"troupe_loss_scale", gauge, leader,
                              "Loss scale of the next step; 1 without scaling"};

inline constexpr M recoveries{"troupe_recoveries_total", counter, leader,
                              "Generations that continued without a lost node"};
inline constexpr M recovery_time{
    "troupe_recovery_seconds", histogram, leader,
    "Time from the last message of a lost node to the first step without it"};

inline constexpr M checkpoints{"troupe_checkpoints_total", counter, leader, "Checkpoints written"};
inline constexpr M checkpoint_failures{"troupe_checkpoint_failures_total", counter, leader,
                                       "Checkpoints that could not be written"};
inline constexpr M checkpoint_interval{
    "troupe_checkpoint_interval_steps", gauge, leader,
    "Steps from one checkpoint to the next, as set by checkpoint.every"};
inline constexpr M checkpoint_written{"troupe_checkpoint_time_seconds", gauge, leader,
                                      "Time at which the last checkpoint was written, Unix time"};

// Speed.
inline constexpr M steps{"troupe_steps_total", counter, leader, "Steps of this process"};
inline constexpr M tokens{"troupe_tokens_total", counter, leader,
                          "Tokens of these samples, if they are texts"};
inline constexpr M operations{
    "troupe_operations_total", counter, leader,
    "Multiplications and additions of the model's convolutions and matrix products, forward and "
    "backward, all ranks; without those that backward recomputes"};
inline constexpr M peak_operations = metric(
    "troupe_peak_operations_per_second", gauge, every_node,
    "Multiplications and additions that the rank's device can do in the run's precision: for a GPU "
    "by its data sheet; for CPUs as measured with independent instructions in registers, "
    "divided among a node's ranks; missing for GPUs whose peak is unknown",
    "rank");

// By kind: all_reduce, reduce_scatter, all_gather, broadcast, reduce.
inline constexpr M collective_bytes = metric("troupe_collective_bytes_total", counter, leader,
                                             "Bytes sent by collectives, all ranks", "kind");
inline constexpr M collective_time =
    metric("troupe_collective_seconds_total", counter, leader,
           "Time in collectives, including waiting for other ranks, mean "
           "over ranks; without collectives of synchronized batch norms",
           "kind");

inline constexpr M unreadable_samples{
    "troupe_unreadable_samples_total", counter, every_node,
    "Samples whose file this node could not read, which were replaced or not counted"};

// Device memory, by MemoryKind. The totals include all kinds except pinned; their peak is the peak
// of the sum.
inline constexpr M memory =
    metric("troupe_memory_bytes", gauge, every_node, "Memory in use", "rank", "kind");
inline constexpr M memory_peak =
    metric("troupe_memory_peak_bytes", gauge, every_node, "Peak memory", "rank", "kind");
inline constexpr M memory_total =
    metric("troupe_memory_total_bytes", gauge, every_node, "Memory in use, all kinds", "rank");
inline constexpr M memory_total_peak =
    metric("troupe_memory_total_peak_bytes", gauge, every_node, "Peak memory, all kinds", "rank");
inline constexpr M memory_limit = metric("troupe_memory_limit_bytes", gauge, every_node,
                                         "Memory of the rank's GPU; missing for CPUs", "rank");

// Memory limits of the process, by limit: host (the machine's memory; in use: without memory that
// can be freed at once), cgroup (the group nearest to its limit; in use: without its inactive
// files), address_space (RLIMIT_AS).
inline constexpr M host_memory = metric("troupe_host_memory_bytes", gauge, every_node,
                                        "Memory in use that counts towards the limit", "limit");
inline constexpr M host_memory_limit =
    metric("troupe_host_memory_limit_bytes", gauge, every_node, "Memory limit", "limit");

} // namespace troupe::metrics::names
