/// Metrics of speed: steps, the breakdown of their time, batches, collectives, messages.
#pragma once

#include "metrics/metric_name.hpp"

namespace troupe::metrics::names {

inline constexpr M steps{"troupe_steps_total", counter, leader, "Steps of this process"};
inline constexpr M tokens{"troupe_tokens_total", counter, leader,
                          "Tokens of these samples, if they are texts"};
inline constexpr M operations{
    "troupe_operations_total", counter, leader,
    "Multiplications and additions of the model's convolutions and matrix products, forward and "
    "backward, all ranks; without those that backward recomputes"};
inline constexpr M peak_operations{
    "troupe_peak_operations_per_second",
    gauge,
    every_node,
    "Multiplications and additions that the rank's device can do in the run's precision: for a GPU "
    "at its highest clock; for CPUs as measured with independent instructions in registers, "
    "divided among a node's ranks; missing if unknown, for GPUs other than sm_80 and sm_90",
    {"rank"}};

// By kind: all_reduce, reduce_scatter, all_gather, broadcast, reduce.
inline constexpr M collective_bytes{"troupe_collective_bytes_total",
                                    counter,
                                    leader,
                                    "Bytes sent by collectives, all ranks",
                                    {"kind"}};
inline constexpr M collective_time{"troupe_collective_seconds_total",
                                   counter,
                                   leader,
                                   "Time in collectives, including waiting for other ranks, mean "
                                   "over ranks; without collectives of synchronized batch norms",
                                   {"kind"}};

// Threads that fill batches (data.loader_threads).
inline constexpr M loader_time{"troupe_loader_seconds_total", counter, every_node,
                               "Time of reading, decoding and augmenting, all loader threads"};
inline constexpr M loader_batches{"troupe_loader_batches_total", counter, every_node,
                                  "Micro-batches that loader threads have filled"};
inline constexpr M decode_time{"troupe_decode_seconds_total", counter, every_node,
                               "Time of reading and decoding image files, all loader threads"};
inline constexpr M unreadable_samples{
    "troupe_unreadable_samples_total", counter, every_node,
    "Samples whose file this node could not read, which were replaced or not counted"};

// All actors of one role.
inline constexpr M mailbox_size{
    "troupe_mailbox_size", gauge, every_node, "Messages waiting in the mailbox", {"actor"}};
inline constexpr M mailbox_messages{"troupe_mailbox_messages_total",
                                    counter,
                                    every_node,
                                    "Messages taken from the mailbox",
                                    {"actor"}};
inline constexpr M mailbox_time{"troupe_mailbox_seconds_total",
                                counter,
                                every_node,
                                "Time that messages waited in the mailbox",
                                {"actor"}};
inline constexpr M processing_time{"troupe_processing_seconds_total",
                                   counter,
                                   every_node,
                                   "Time spent in message handlers",
                                   {"actor"}};

} // namespace troupe::metrics::names
