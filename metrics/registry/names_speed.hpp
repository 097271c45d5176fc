/// Metrics of speed: steps, what their time goes to, batches, collectives, messages.
#pragma once

#include "metrics/registry/metric_name.hpp"

namespace troupe::metrics::names {

inline constexpr M steps{"troupe_steps_total", counter, leader, "Steps of this process"};
inline constexpr M samples{"troupe_samples_total", counter, leader,
                           "Samples trained on by this process"};
inline constexpr M tokens{"troupe_tokens_total", counter, leader,
                          "Tokens of these samples, where they are texts"};
inline constexpr M step_time{"troupe_step_seconds", histogram, leader, "From commit to commit"};
inline constexpr M data_wait{"troupe_data_wait_seconds_total", counter, leader,
                             "Waiting for batches, of the rank that waited longest"};
inline constexpr M operations{
    "troupe_operations_total", counter, leader,
    "Multiplications and additions of the model's convolutions and matrix products, forward and "
    "backward, all ranks; without what backward makes again"};
inline constexpr M peak_operations{
    "troupe_peak_operations_per_second",
    gauge,
    every_node,
    "Multiplications and additions that the rank's device can do in the run's precision: a GPU at "
    "its highest clock, processors as measured with independent instructions in registers, divided "
    "among a node's ranks; missing where it is unknown: for other GPUs than sm_80 and sm_90",
    {"rank"}};

// By kind: all_reduce, reduce_scatter, all_gather, broadcast, reduce.
inline constexpr M collective_bytes{
    "troupe_collective_bytes_total", counter, leader, "Sent by collectives, all ranks", {"kind"}};
inline constexpr M collective_time{"troupe_collective_seconds_total",
                                   counter,
                                   leader,
                                   "Time in collectives, waiting for other ranks included, mean "
                                   "over ranks; without those of synchronized batch norms",
                                   {"kind"}};
inline constexpr M overlap{"troupe_overlap_ratio", gauge, leader,
                           "Part of the last step's collectives hidden behind computing"};

// Of ranks.
inline constexpr M rank_time{
    "troupe_rank_step_seconds_total",
    counter,
    every_node,
    "What a rank's steps took: compute (forward and backward), data (waiting for batches), "
    "collectives (not hidden behind computing, waiting for other ranks included), optimizer (not "
    "hidden either)",
    {"rank", "part"}};
inline constexpr M rank_steps{
    "troupe_rank_steps_total", counter, every_node, "Steps of the rank", {"rank"}};
inline constexpr M busy{"troupe_worker_busy_ratio",
                        gauge,
                        every_node,
                        "Part of the steps' time in forward and backward",
                        {"rank"}};
inline constexpr M ready_batches{"troupe_loader_ready_batches",
                                 gauge,
                                 every_node,
                                 "Micro-batches that were filled and waiting when the rank's last "
                                 "step ended; 0: the next one has to wait",
                                 {"rank"}};

// Of the threads that fill batches (data.loader_threads).
inline constexpr M loader_time{"troupe_loader_seconds_total", counter, every_node,
                               "Reading, decoding and augmenting, all loader threads"};
inline constexpr M loader_batches{"troupe_loader_batches_total", counter, every_node,
                                  "Micro-batches that loader threads have filled"};
inline constexpr M decode_time{"troupe_decode_seconds_total", counter, every_node,
                               "Of that, reading and decoding files of images"};
inline constexpr M unreadable_samples{
    "troupe_unreadable_samples_total", counter, every_node,
    "Samples whose file this node could not read: replaced, or not counted"};

// Of all actors of one role.
inline constexpr M mailbox_size{
    "troupe_mailbox_size", gauge, every_node, "Waiting messages", {"actor"}};
inline constexpr M mailbox_messages{"troupe_mailbox_messages_total",
                                    counter,
                                    every_node,
                                    "Messages taken from mailboxes",
                                    {"actor"}};
inline constexpr M mailbox_time{"troupe_mailbox_seconds_total",
                                counter,
                                every_node,
                                "Time of messages in mailboxes",
                                {"actor"}};
inline constexpr M processing_time{
    "troupe_processing_seconds_total", counter, every_node, "Time in message handlers", {"actor"}};

} // namespace troupe::metrics::names
