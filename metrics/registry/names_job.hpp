/// Metrics of the job as a whole: what it is, where it stands, how it learns, what is saved of it.
#pragma once

#include "metrics/registry/metric_name.hpp"

namespace troupe::metrics::names {

inline constexpr M build_info{"troupe_build_info", gauge, every_node, "Always 1", {"version"}};
inline constexpr M run_info{"troupe_run_info",
                            gauge,
                            every_node,
                            "Always 1",
                            {"run", "model", "dataset", "strategy", "precision"}};
inline constexpr M phase{
    "troupe_phase", gauge, every_node, "1: what the process does; 0: the others", {"phase"}};
inline constexpr M last_error{
    "troupe_last_error", gauge, every_node, "1: why the job has failed", {"kind"}};
inline constexpr M ready{"troupe_ready", gauge, every_node, "Whether /readyz answers 200"};
inline constexpr M start_time{"troupe_start_time_seconds", gauge, every_node,
                              "Start of the run, Unix time"};
inline constexpr M world_size{"troupe_world_size", gauge, every_node, "Workers that train"};
inline constexpr M generation{"troupe_generation", gauge, every_node,
                              "Counts memberships: nodes were lost or came since the one before"};
inline constexpr M heartbeat_time{
    "troupe_heartbeat_time_seconds",
    gauge,
    leader,
    "When the leader last heard of a node, Unix time; each tells once a second",
    {"peer"}};

// In the last step (set=train) and the last evaluation (set=test).
inline constexpr M loss{"troupe_loss", gauge, leader, "Mean loss", {"set"}};
inline constexpr M accuracy{
    "troupe_accuracy_ratio", gauge, leader, "Part classified right", {"set"}};
inline constexpr M gradient_norm{
    "troupe_gradient_norm", gauge, leader,
    "Global L2 norm of the last gradient that was measured, before train.clip_grad_norm changes "
    "it: every one with that key, else those of train.gradient_norm_every"};
inline constexpr M drift{
    "troupe_worker_drift_ratio", gauge, leader,
    "Where workers train apart (parallel.strategy: local_sgd, diloco): how far their parameters "
    "were from the mean when they were last averaged, root mean square, as a part of the mean's "
    "norm; diloco: how far teams' changes were from their sum, of the fragments that were last "
    "applied, of rank 0's shard, as a part of the norm of their parameters"};
inline constexpr M round_bytes{
    "troupe_round_bytes", gauge, leader,
    "The same: bytes that are sent for the rounds which ended last, all ranks; diloco: changes "
    "of fragments, and the sums that come back of them"};
inline constexpr M staleness{
    "troupe_staleness_steps", gauge, leader,
    "Where workers are asynchronous (parallel.strategy: async): how many steps the parameters "
    "lacked with which the last step's gradients were computed, mean over slices and shards"};
inline constexpr M item_time{
    "troupe_lease_seconds", gauge, leader,
    "The same: the longest that a slice of the last step was with a worker"};
inline constexpr M learning_rate{"troupe_learning_rate", gauge, leader,
                                 "Learning rate of the last step"};
inline constexpr M epoch{"troupe_epoch", gauge, leader, "Epoch under way, counted from 1"};
inline constexpr M step{"troupe_step", gauge, leader,
                        "Steps of the run, with those before a resume"};
inline constexpr M last_step{"troupe_last_step", gauge, leader, "Step at which the run ends"};
inline constexpr M time_left{
    "troupe_time_left_seconds", gauge, leader,
    "Until the run ends, at the mean speed of this process, evaluations and saving included"};
inline constexpr M evaluation_time{"troupe_evaluation_seconds", histogram, leader,
                                   "Time of an evaluation"};

// With loss scaling (precision amp_fp16).
inline constexpr M loss_scale{"troupe_loss_scale", gauge, leader,
                              "Of the next step; 1 without scaling"};
inline constexpr M skipped_steps{"troupe_skipped_steps_total", counter, leader,
                                 "Steps of the run whose gradients were not finite: each one "
                                 "lowered the scale"};
inline constexpr M scale_growths{"troupe_loss_scale_growths_total", counter, leader,
                                 "Times the run raised the scale"};

inline constexpr M recoveries{"troupe_recoveries_total", counter, leader,
                              "Generations that went on without a node that was lost"};
inline constexpr M recovery_time{
    "troupe_recovery_seconds", histogram, leader,
    "From the last that was heard of a lost node to the first step without it"};

inline constexpr M checkpoints{"troupe_checkpoints_total", counter, leader, "Checkpoints written"};
inline constexpr M checkpoint_failures{"troupe_checkpoint_failures_total", counter, leader,
                                       "Checkpoints that could not be written"};
inline constexpr M checkpoint_time{"troupe_checkpoint_seconds", histogram, leader,
                                   "Time to write one, while training goes on"};
inline constexpr M save_time{"troupe_save_seconds", histogram, leader,
                             "Time in which training stands still for one: it is copied, or the "
                             "one before is still being written"};
inline constexpr M checkpoint_step{"troupe_checkpoint_step", gauge, leader,
                                   "Step of the last one, or at which the process began"};
inline constexpr M checkpoint_interval{"troupe_checkpoint_interval_steps", gauge, leader,
                                       "From one to the next, as checkpoint.every says"};
inline constexpr M checkpoint_written{"troupe_checkpoint_time_seconds", gauge, leader,
                                      "When the last one was written, Unix time"};
inline constexpr M checkpoint_bytes{"troupe_checkpoint_bytes", gauge, leader,
                                    "Size of the last one, all ranks' files"};

} // namespace troupe::metrics::names
