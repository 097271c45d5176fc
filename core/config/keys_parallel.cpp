#include "core/config/detail/keys_parallel.hpp"

#include "core/config/detail/rules.hpp"

#include <fmt/format.h>

namespace troupe {

namespace {

/// Returns the help of the key parallel.strategy, made from that of all strategies.
std::string strategy_help() {
  std::string help = "How workers share the job";
  for (const auto& traits : strategies)
    help += fmt::format("{} {}: {}", traits.alone ? '.' : ';', traits.name, traits.help);
  return help;
}

void add_strategy(std::vector<ConfigKey>& keys, ParallelConfig& c) {
  keys.push_back({"parallel.strategy", &c.strategy, one_of(strategy_names()), strategy_help()});
  keys.push_back({"parallel.bucket_size",
                  &c.bucket_size,
                  {.min = 1024, .format = ConfigFormat::size},
                  "Size of a bucket of gradients, which are sent together during backward (dp, "
                  "ddp, zero1, zero2, async)"});
  keys.push_back({"parallel.prefetch",
                  &c.prefetch,
                  {.min = 0, .max = 1024},
                  "Buckets that are gathered ahead of time (zero3, fsdp, hsdp), or whose gradients "
                  "may be in flight in addition to one (also zero2)"});
  keys.push_back({"parallel.max_units_alive", &c.max_units_alive, at_least(1),
                  "Maximum number of buckets that are gathered, or whose gradients are in flight, "
                  "at a time; uses less memory than prefetch would"});
  keys.push_back({"parallel.reshard_after_forward",
                  &c.reshard_after_forward,
                  {},
                  "Release parameters after forward and gather them again for backward; false: "
                  "more memory, a third less traffic"});
  keys.push_back({"parallel.no_sync",
                  &c.no_sync,
                  {},
                  "Sum micro-batches, and send gradients once per step; false: zero2, zero3, fsdp "
                  "and hsdp send after each micro-batch, and need no memory for the sum"});
  keys.push_back({"parallel.shard_group",
                  &c.shard_group,
                  {.min = 2, .max = 1024},
                  "hsdp: number of workers that together hold one copy of the state"});
  keys.push_back({"parallel.buddies", &c.buddies, one_of({"auto", "on", "off"}),
                  "zero1, zero2, zero3, fsdp over several hosts: each worker's shard of the state "
                  "has a replica (its buddy) on another host, which also gets the worker's "
                  "gradients, so that a lost host costs no step. auto: if the workers are on "
                  "several hosts; on: also refuse a config in which they never are"});
  keys.push_back({"parallel.wrap.policy", &c.wrap.policy,
                  one_of({"per_block", "size_based", "explicit"}),
                  "Units that zero3, fsdp and hsdp gather together. per_block: each block (stem, "
                  "residual block, head); size_based: neighbours until they have min_num_params; "
                  "explicit: those in units"});
  keys.push_back(
      {"parallel.wrap.min_num_params", &c.wrap.min_num_params, count_to(1e12), "size_based"});
  keys.push_back({"parallel.wrap.units",
                  &c.wrap.units,
                  {},
                  "explicit: names of units (layer1, layer2.0); the units between two of them are "
                  "wrapped together"});
}

void add_mixed_precision(std::vector<ConfigKey>& keys, MixedPrecisionConfig& c) {
  const auto types = one_of({"fp32", "bf16", "fp16"});
  keys.push_back({"parallel.mixed_precision.parameters", &c.parameters, types,
                  "zero3, fsdp, hsdp: type in which parameters are gathered; bf16 and fp16 halve "
                  "the traffic. The optimizer's parameters stay in fp32"});
  keys.push_back({"parallel.mixed_precision.reduce", &c.reduce, types,
                  "Type in which gradients are sent and summed over workers"});
  keys.push_back({"parallel.mixed_precision.buffers", &c.buffers, types,
                  "Type to which batch norm's running statistics are rounded"});
}

void add_offload(std::vector<ConfigKey>& keys, OffloadConfig& c) {
  keys.push_back({"parallel.offload.target", &c.target, one_of({"none", "optimizer", "parameters"}),
                  "optimizer: the host keeps the optimizer's state and a copy of the parameters, "
                  "and updates them during backward; parameters: the parameters, too, are only on "
                  "the host (zero3, fsdp, hsdp)"});
  keys.push_back({"parallel.offload.ratio",
                  &c.ratio,
                  {.min = 0, .max = 1, .above_min = true},
                  "Share of the state that is offloaded, beginning with what backward completes "
                  "first; the rest stays on the device"});
}

void add_rounds(std::vector<ConfigKey>& keys, RoundsConfig& c) {
  keys.push_back({"parallel.local_steps", &c.local_steps, count_to(1e9),
                  "local_sgd, diloco: steps that each worker (or replica group) makes "
                  "independently, on its own slices, before parameters are averaged"});
  keys.push_back({"parallel.local_after",
                  &c.after,
                  {.min = 0, .max = 1e12},
                  "local_sgd: number of initial steps in which gradients are averaged, as with ddp "
                  "(post-local SGD)"});
  keys.push_back(
      {"parallel.local_momentum", &c.momentum, one_of({"kept", "reset", "averaged"}),
       "local_sgd: the optimizer's state when parameters are averaged. kept: each worker keeps its "
       "state; reset: it starts from zero; averaged: all get the average"});
}

void add_outer(std::vector<ConfigKey>& keys, OuterConfig& c) {
  keys.push_back({"parallel.outer.team",
                  &c.team,
                  {.min = 1, .max = 1024},
                  "Workers of a replica group, which train together in each step: neighbours by "
                  "rank, such as those of a host"});
  keys.push_back({"parallel.outer.inner", &c.inner, one_of({"ddp", "zero1", "zero2", "zero3"}),
                  "How the workers of a replica group share its state"});
  keys.push_back(
      {"parallel.outer.lr", &c.lr, above(0), "Learning rate of the outer optimizer, which is SGD"});
  keys.push_back(
      {"parallel.outer.momentum", &c.momentum, fraction(), "Momentum of the outer optimizer"});
  keys.push_back(
      {"parallel.outer.nesterov", &c.nesterov, {}, "Use Nesterov momentum in the outer optimizer"});
  keys.push_back({"parallel.outer.fragments", &c.fragments, count_to(1024),
                  "Fragments of the model, whose rounds end one after another, so that less is in "
                  "flight at a time (Streaming DiLoCo)"});
  keys.push_back(
      {"parallel.outer.overlap",
       &c.overlap,
       {.min = 0, .max = 1e9},
       "Steps that each replica group makes while a fragment is in flight; 0: groups wait"});
  keys.push_back({"parallel.outer.compress", &c.compress, one_of({"none", "fp16", "int8", "int4"}),
                  "Type in which pseudo-gradients are sent; int8 and int4 have a scale for every "
                  "128 elements"});
  keys.push_back({"parallel.outer.error_feedback",
                  &c.error_feedback,
                  {},
                  "Add the rounding errors of compress to the next round"});
  keys.push_back({"parallel.outer.quorum", &c.quorum, at_least(1),
                  "Number of replica groups with which a round may end; those that are late count "
                  "in the next round; null: all"});
  keys.push_back({"parallel.outer.grace",
                  &c.grace,
                  {.min = 0},
                  "Time that a round with its quorum waits for the other groups"});
}

void add_stale(std::vector<ConfigKey>& keys, StaleConfig& c) {
  keys.push_back({"parallel.staleness",
                  &c.staleness,
                  {.min = 0, .max = 1000},
                  "async: maximum staleness of the parameters with which a slice is computed, in "
                  "steps; 0: none, as with ddp"});
  keys.push_back({"parallel.stale_gradients", &c.gradients,
                  one_of({"whole", "divided", "compensated"}),
                  "async: how a stale gradient counts. whole: fully; divided: divided by its "
                  "staleness; compensated: corrected to first order (DC-ASGD)"});
  keys.push_back({"parallel.compensation",
                  &c.compensation,
                  {.min = 0, .max = 1e6},
                  "async with stale_gradients compensated: factor of the correction"});
  keys.push_back({"parallel.patience",
                  &c.patience,
                  {.min = 0, .max = 1000},
                  "async: maximum time that a worker waits for a step that is almost complete, "
                  "instead of computing a slice without it, as a fraction of its time per slice; "
                  "also the maximum time by which it may delay the end of a step"});
  keys.push_back({"parallel.weight_prediction",
                  &c.prediction,
                  {},
                  "async: predict stale parameters by applying the missing steps with the "
                  "gradients that have arrived"});
}

} // namespace

void add_parallel_keys(std::vector<ConfigKey>& keys, ParallelConfig& c) {
  add_strategy(keys, c);
  add_mixed_precision(keys, c.mixed_precision);
  add_offload(keys, c.offload);
  add_rounds(keys, c.rounds);
  add_outer(keys, c.outer);
  add_stale(keys, c.stale);
}

} // namespace troupe
