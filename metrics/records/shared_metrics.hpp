/// Metrics of several fields, and those of fields that registry/ refers to by name, too.
#pragma once

#include "metrics/metric_name.hpp"

namespace troupe::metrics::names {

// Last step (set=train) and last evaluation (set=test).
inline constexpr M loss = metric("troupe_loss", gauge, leader, "Mean loss", "set");
inline constexpr M accuracy = metric("troupe_accuracy_ratio", gauge, leader,
                                     "Share of samples that are classified correctly", "set");

inline constexpr M step_time{"troupe_step_seconds", histogram, leader,
                             "Time from the commit of a step to the next"};

inline constexpr M rank_time =
    metric("troupe_rank_step_seconds_total", counter, every_node,
           "Time of a rank's steps: compute (forward and backward), data "
           "(waiting for batches), collectives (not overlapped with compute, "
           "including waiting for other ranks), optimizer (not overlapped)",
           "rank", "part");

inline constexpr M checkpoint_step{"troupe_checkpoint_step", gauge, leader,
                                   "Step of the last checkpoint, or at which the process started"};

} // namespace troupe::metrics::names
