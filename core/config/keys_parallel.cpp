#include "core/config/detail/keys_parallel.hpp"

#include "core/config/detail/rules.hpp"

#include <fmt/format.h>

namespace troupe {

namespace {

/// The help of the key parallel.strategy: that of all strategies.
std::string strategy_help() {
  std::string help = "How workers share the job";
  for (const auto& traits : strategies)
    help += fmt::format("{} {}: {}", traits.alone ? '.' : ';', traits.name, traits.help);
  return help;
}

void add_strategy(std::vector<ConfigKey>& keys, ParallelConfig& c) {
  keys.push_back({"parallel.strategy", &c.strategy, one_of(strategy_names()), strategy_help()});
  keys.push_back(
      {"parallel.bucket_size",
       &c.bucket_size,
       {.min = 1024, .format = ConfigFormat::size},
       "Gradients that travel together while backward goes on (dp, ddp, zero1, zero2, async)"});
  keys.push_back(
      {"parallel.prefetch",
       &c.prefetch,
       {.min = 0, .max = 1024},
       "Buckets that are gathered before they are needed (zero3, fsdp, hsdp), or whose gradients "
       "may travel beside those under way (zero2 too)"});
  keys.push_back(
      {"parallel.max_units_alive", &c.max_units_alive, at_least(1),
       "Most buckets that are gathered, or whose gradients travel, at a time: for less memory "
       "than prefetch takes"});
  keys.push_back({"parallel.reshard_after_forward",
                  &c.reshard_after_forward,
                  {},
                  "Release parameters after forward and gather them again for backward; false: "
                  "more memory, a third less traffic"});
  keys.push_back({"parallel.no_sync",
                  &c.no_sync,
                  {},
                  "Sum micro-batches before gradients travel, once a step; false: zero2, zero3, "
                  "fsdp and hsdp send after each micro-batch, and need no memory for the sum"});
  keys.push_back({"parallel.shard_group",
                  &c.shard_group,
                  {.min = 2, .max = 1024},
                  "hsdp: workers that hold one copy of the state together"});
  keys.push_back({"parallel.buddies", &c.buddies, one_of({"auto", "on", "off"}),
                  "zero1, zero2, zero3, fsdp over several hosts: each worker's part of the state "
                  "has a copy on another host, which is sent the worker's gradients, so that a "
                  "lost host costs no step. auto: where the workers are on several hosts; on: "
                  "refuse a config in which they never are"});
  keys.push_back({"parallel.wrap.policy", &c.wrap.policy,
                  one_of({"per_block", "size_based", "explicit"}),
                  "What zero3, fsdp and hsdp gather together: each block (stem, residual block, "
                  "head); neighbours until they have min_num_params; or what units names"});
  keys.push_back(
      {"parallel.wrap.min_num_params", &c.wrap.min_num_params, count_to(1e12), "size_based"});
  keys.push_back({"parallel.wrap.units",
                  &c.wrap.units,
                  {},
                  "explicit: names (layer1, layer2.0); what lies between is wrapped together"});
}

void add_mixed_precision(std::vector<ConfigKey>& keys, MixedPrecisionConfig& c) {
  const auto types = one_of({"fp32", "bf16", "fp16"});
  keys.push_back({"parallel.mixed_precision.parameters", &c.parameters, types,
                  "zero3, fsdp, hsdp: type in which parameters are gathered; half the traffic. The "
                  "optimizer's stay in fp32"});
  keys.push_back({"parallel.mixed_precision.reduce", &c.reduce, types,
                  "Type in which gradients travel, and are summed over workers"});
  keys.push_back({"parallel.mixed_precision.buffers", &c.buffers, types,
                  "Type whose values batch norm's running statistics hold"});
}

void add_offload(std::vector<ConfigKey>& keys, OffloadConfig& c) {
  keys.push_back(
      {"parallel.offload.target", &c.target, one_of({"none", "optimizer", "parameters"}),
       "optimizer: the host keeps the optimizer's state and a copy of the parameters, and "
       "updates them while backward goes on; parameters: they too lie there alone "
       "(zero3, fsdp, hsdp)"});
  keys.push_back(
      {"parallel.offload.ratio",
       &c.ratio,
       {.min = 0, .max = 1, .above_min = true},
       "How much of it, from what backward completes first; the rest stays on the device"});
}

void add_rounds(std::vector<ConfigKey>& keys, RoundsConfig& c) {
  keys.push_back({"parallel.local_steps", &c.local_steps, count_to(1e9),
                  "local_sgd, diloco: steps that each worker (or team) makes by itself, on its own "
                  "slices, before parameters are averaged"});
  keys.push_back({"parallel.local_after",
                  &c.after,
                  {.min = 0, .max = 1e12},
                  "local_sgd: steps at the beginning in which gradients are averaged, as with ddp "
                  "(post-local SGD)"});
  keys.push_back({"parallel.local_momentum", &c.momentum, one_of({"kept", "reset", "averaged"}),
                  "local_sgd: what becomes of the optimizer's state where parameters are averaged: "
                  "each worker keeps its own, begins afresh, or all get the average"});
}

void add_outer(std::vector<ConfigKey>& keys, OuterConfig& c) {
  keys.push_back(
      {"parallel.outer.team",
       &c.team,
       {.min = 1, .max = 1024},
       "Workers that train together, in each step: neighbours by rank, those of a host"});
  keys.push_back({"parallel.outer.inner", &c.inner, one_of({"ddp", "zero1", "zero2", "zero3"}),
                  "How the workers of a team share its state"});
  keys.push_back(
      {"parallel.outer.lr", &c.lr, above(0), "Learning rate of the outer optimizer, which is SGD"});
  keys.push_back({"parallel.outer.momentum", &c.momentum, fraction(), "Its momentum"});
  keys.push_back({"parallel.outer.nesterov", &c.nesterov, {}, "And whether that is Nesterov's"});
  keys.push_back({"parallel.outer.fragments", &c.fragments, count_to(1024),
                  "Parts of the model that end their rounds one after the other, so that less is "
                  "under way at a time (Streaming DiLoCo)"});
  keys.push_back({"parallel.outer.overlap",
                  &c.overlap,
                  {.min = 0, .max = 1e9},
                  "Steps that each team makes while a fragment is under way; 0: teams wait"});
  keys.push_back({"parallel.outer.compress", &c.compress, one_of({"none", "fp16", "int8", "int4"}),
                  "Type in which changes travel; the two of integers have a scale for each 128"});
  keys.push_back({"parallel.outer.error_feedback",
                  &c.error_feedback,
                  {},
                  "What a type rounds off goes with the next round"});
  keys.push_back({"parallel.outer.quorum", &c.quorum, at_least(1),
                  "Teams with which a round may end: what those that are late have done counts in "
                  "the next; null: all"});
  keys.push_back({"parallel.outer.grace",
                  &c.grace,
                  {.min = 0},
                  "How long a round that has its quorum waits for the others"});
}

void add_stale(std::vector<ConfigKey>& keys, StaleConfig& c) {
  keys.push_back({"parallel.staleness",
                  &c.staleness,
                  {.min = 0, .max = 1000},
                  "async: the most steps that the parameters which a slice is computed with may "
                  "lack; 0: none, as with ddp"});
  keys.push_back({"parallel.stale_gradients", &c.gradients,
                  one_of({"whole", "divided", "compensated"}),
                  "async: how a gradient counts whose parameters lacked steps: whole, divided by "
                  "their number, or compensated to first order (DC-ASGD)"});
  keys.push_back({"parallel.compensation",
                  &c.compensation,
                  {.min = 0, .max = 1e6},
                  "async with stale_gradients compensated: how much of the correction"});
  keys.push_back(
      {"parallel.patience",
       &c.patience,
       {.min = 0, .max = 1000},
       "async: how long a worker waits for a step that will soon be made, rather than "
       "begin a slice that lacks it: a part of the time that a slice takes it; and by as "
       "much it may end a step later than the others would without it"});
  keys.push_back({"parallel.weight_prediction",
                  &c.prediction,
                  {},
                  "async: parameters that lack steps are read as these would leave them with what "
                  "has come of their gradients"});
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
