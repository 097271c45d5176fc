/// Metrics of the whole job: identity, progress, learning, checkpoints.
#pragma once

#include "metrics/metric_name.hpp"

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

} // namespace troupe::metrics::names
