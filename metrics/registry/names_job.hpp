/// Metrics of the whole job: identity, progress, learning, checkpoints.
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
    "troupe_phase", gauge, every_node, "1: the process's current phase; 0: the others", {"phase"}};
inline constexpr M last_error{"troupe_last_error",
                              gauge,
                              every_node,
                              "1: the kind of error with which the job failed",
                              {"kind"}};
inline constexpr M ready{"troupe_ready", gauge, every_node, "Whether /readyz answers 200"};
inline constexpr M start_time{"troupe_start_time_seconds", gauge, every_node,
                              "Start of the run, Unix time"};
inline constexpr M world_size{"troupe_world_size", gauge, every_node, "Workers that train"};
inline constexpr M generation{
    "troupe_generation", gauge, every_node,
    "Number of the generation, which changes when nodes are lost or join"};
inline constexpr M heartbeat_time{
    "troupe_heartbeat_time_seconds",
    gauge,
    leader,
    "Time of the last message from a node to the leader, Unix time; each node sends one per second",
    {"peer"}};

// Last step (set=train) and last evaluation (set=test).
inline constexpr M loss{"troupe_loss", gauge, leader, "Mean loss", {"set"}};
inline constexpr M accuracy{"troupe_accuracy_ratio",
                            gauge,
                            leader,
                            "Share of samples that are classified correctly",
                            {"set"}};
inline constexpr M gradient_norm{
    "troupe_gradient_norm", gauge, leader,
    "Global L2 norm of the last measured gradient, before train.clip_grad_norm changes it; "
    "measured in every step with that key, otherwise as often as train.gradient_norm_every"};
inline constexpr M drift{
    "troupe_worker_drift_ratio", gauge, leader,
    "parallel.strategy local_sgd: root mean square distance of the workers' parameters from their "
    "mean when they were last averaged, relative to the norm of the mean; diloco: distance of the "
    "replica groups' pseudo-gradients from their sum, for the fragments that were last applied, in "
    "rank 0's shard, relative to the norm of the parameters"};
inline constexpr M round_bytes{
    "troupe_round_bytes", gauge, leader,
    "parallel.strategy local_sgd, diloco: bytes that all ranks sent for the rounds that ended "
    "last; diloco: pseudo-gradients of fragments, and their sums"};
inline constexpr M staleness{
    "troupe_staleness_steps", gauge, leader,
    "parallel.strategy async: staleness, in steps, of the parameters with which the last step's "
    "gradients were computed, mean over slices and shards"};
inline constexpr M item_time{"troupe_work_item_seconds", gauge, leader,
                             "parallel.strategy async: longest time for which a slice of the last "
                             "step was assigned to a worker"};
inline constexpr M lease_time{"troupe_lease_seconds", gauge, leader,
                              "Deprecated name of troupe_work_item_seconds, removed in 0.3"};
inline constexpr M learning_rate{"troupe_learning_rate", gauge, leader,
                                 "Learning rate of the last step"};
inline constexpr M epoch{"troupe_epoch", gauge, leader, "Current epoch, counted from 1"};
inline constexpr M step{"troupe_step", gauge, leader,
                        "Steps of the run, including those before a resume"};
inline constexpr M last_step{"troupe_last_step", gauge, leader, "Step at which the run ends"};
inline constexpr M time_left{
    "troupe_time_left_seconds", gauge, leader,
    "Time until the run ends, at the mean speed of this process, including evaluations and saving"};
inline constexpr M evaluation_time{"troupe_evaluation_seconds", histogram, leader,
                                   "Time of an evaluation"};

// With loss scaling (precision amp_fp16).
inline constexpr M loss_scale{"troupe_loss_scale", gauge, leader,
                              "Loss scale of the next step; 1 without scaling"};
inline constexpr M skipped_steps{"troupe_skipped_steps_total", counter, leader,
                                 "Steps of the run that were skipped because gradients were not "
                                 "finite; each one lowered the loss scale"};
inline constexpr M scale_growths{"troupe_loss_scale_growths_total", counter, leader,
                                 "Number of times that the run raised the loss scale"};

inline constexpr M recoveries{"troupe_recoveries_total", counter, leader,
                              "Generations that continued without a lost node"};
inline constexpr M recovery_time{
    "troupe_recovery_seconds", histogram, leader,
    "Time from the last message of a lost node to the first step without it"};

inline constexpr M checkpoints{"troupe_checkpoints_total", counter, leader, "Checkpoints written"};
inline constexpr M checkpoint_failures{"troupe_checkpoint_failures_total", counter, leader,
                                       "Checkpoints that could not be written"};
inline constexpr M checkpoint_time{"troupe_checkpoint_seconds", histogram, leader,
                                   "Time to write a checkpoint, while training continues"};
inline constexpr M save_time{"troupe_save_seconds", histogram, leader,
                             "Time for which training waits for a checkpoint: while it is copied, "
                             "or while the previous one is still being written"};
inline constexpr M checkpoint_step{"troupe_checkpoint_step", gauge, leader,
                                   "Step of the last checkpoint, or at which the process started"};
inline constexpr M checkpoint_interval{
    "troupe_checkpoint_interval_steps", gauge, leader,
    "Steps from one checkpoint to the next, as set by checkpoint.every"};
inline constexpr M checkpoint_written{"troupe_checkpoint_time_seconds", gauge, leader,
                                      "Time at which the last checkpoint was written, Unix time"};
inline constexpr M checkpoint_bytes{"troupe_checkpoint_bytes", gauge, leader,
                                    "Size of the last checkpoint, files of all ranks"};

} // namespace troupe::metrics::names
