#include "core/config/detail/keys.hpp"

#include <fmt/format.h>

#include <utility>

namespace troupe {

namespace {

/// Returns the help of the key parallel.strategy, made from that of all strategies.
std::string strategy_help() {
  std::string help = "How workers share the job";
  for (const auto& traits : strategies)
    help += fmt::format("{} {}: {}", traits.alone ? '.' : ';', traits.name, traits.help);
  return help;
}

void add_strategy(KeyList& keys, ParallelConfig& c) {
  keys.add("parallel.strategy", c.strategy, strategy_help());
  keys.add("parallel.bucket_size", c.bucket_size, size_at_least(1024),
           "Size of a bucket of gradients, which are sent together during backward (dp, ddp, "
           "zero1, zero2, async)");
  keys.add("parallel.prefetch", c.prefetch, between(0, 1024),
           "Buckets that are gathered ahead of time (zero3, fsdp, hsdp), or whose gradients may be "
           "in flight in addition to one (also zero2)");
  keys.add("parallel.reshard_after_forward", c.reshard_after_forward,
           "Release parameters after forward and gather them again for backward; false: more "
           "memory, a third less traffic");
  keys.add("parallel.no_sync", c.no_sync,
           "Sum micro-batches, and send gradients once per step; false: zero2, zero3, fsdp and "
           "hsdp send after each micro-batch, and need no memory for the sum");
  keys.add("parallel.shard_group", c.shard_group, between(2, 1024),
           "hsdp: number of workers that together hold one copy of the state");
  keys.add("parallel.replicate_shards", c.replicate_shards,
           "zero1, zero2, zero3, fsdp over several hosts: each worker's shard of the state has a "
           "replica on another host, which also gets the worker's gradients, so that a lost host "
           "costs no step. auto: if the workers are on several hosts; on: also refuse a config in "
           "which they never are");
}

FormsTarget wrap_forms(WrapConfig& c) {
  using Policy = WrapConfig::Policy;
  const auto has = [](Policy policy) {
    return [policy](const WrapConfig& wrap) { return wrap.policy == policy; };
  };
  auto per_block = word_form("per_block", c);
  per_block.fits = [&c] { return c.policy == Policy::per_block; };
  return {&c,
          {std::move(per_block),
           fields_form(c, {.policy = Policy::size_based},
                       {bound_key("min_num_params", c.min_num_params, count_to(1e12))},
                       has(Policy::size_based)),
           fields_form(c, {.policy = Policy::by_name}, {bound_key("", c.units, not_empty())})}};
}

FormsTarget mixed_precision_forms(MixedPrecisionConfig& c) {
  return word_or_mapping(
      "fp32", c,
      {bound_key("parameters", c.parameters,
                 "zero3, fsdp, hsdp: type in which parameters are gathered; bf16 and "
                 "fp16 halve the traffic. The optimizer's parameters stay in fp32"),
       bound_key("reduce", c.reduce, "type in which gradients are sent and summed over workers"),
       bound_key("buffers", c.buffers,
                 "type to which batch norm's running statistics are rounded")});
}

FormsTarget offload_forms(OffloadConfig& c) {
  using Target = OffloadConfig::Target;
  const auto share = [&c](const char* name, Target target) {
    return fields_form(c, {.target = target}, {bound_key(name, c.ratio, positive_share())},
                       [target](const OffloadConfig& offload) { return offload.target == target; });
  };
  return {&c,
          {word_form("none", c), word_form("optimizer", c, {.target = Target::optimizer}),
           word_form("parameters", c, {.target = Target::parameters}),
           share("optimizer", Target::optimizer), share("parameters", Target::parameters)}};
}

void add_units(KeyList& keys, ParallelConfig& c) {
  keys.add(
      "parallel.wrap", wrap_forms(c.wrap),
      "Units that zero3, fsdp and hsdp gather together. per_block: each block (stem, residual "
      "block, head); min_num_params: neighbours until they have this many parameters; a list: the "
      "named units (layer1, layer2.0), where the units between two of them are wrapped together");
  keys.add(
      "parallel.mixed_precision", mixed_precision_forms(c.mixed_precision),
      "Types of communicated data, as in FSDP's MixedPrecision; each is fp32 if it is not given");
  keys.add("parallel.offload", offload_forms(c.offload),
           "State that is kept in the host's memory. optimizer: the host keeps the optimizer's "
           "state and a copy of the parameters, and updates them during backward; parameters: the "
           "parameters, too, are only on the host (zero3, fsdp, hsdp); with a number, only this "
           "share of the state, beginning with what backward completes first");
}

void add_local_sgd(KeyList& keys, LocalSgdConfig& c) {
  keys.add("parallel.local_sgd.steps", c.steps, count_to(1e9),
           "Steps that each worker makes independently, on its own slices, before parameters are "
           "averaged");
  keys.add("parallel.local_sgd.after", c.after, between(0, 1e12),
           "Number of initial steps in which gradients are averaged, as with ddp (post-local SGD)");
  keys.add("parallel.local_sgd.momentum", c.momentum,
           "The optimizer's state when parameters are averaged. kept: each worker keeps its state; "
           "reset: it starts from zero; averaged: all get the average");
}

void add_diloco(KeyList& keys, DilocoConfig& c) {
  keys.add("parallel.diloco.steps", c.steps, count_to(1e9),
           "Steps that each replica group makes independently, on its own slices, before its "
           "change of the parameters is sent");
  keys.add("parallel.diloco.group_size", c.group_size, between(1, 1024),
           "Workers of a replica group, which train together in each step: neighbours by rank, "
           "such as those of a host");
  keys.add("parallel.diloco.inner", c.inner, one_of({"ddp", "zero1", "zero2", "zero3"}),
           "How the workers of a replica group share its state");
  keys.add("parallel.diloco.lr", c.lr, above(0),
           "Learning rate of the outer optimizer, which is SGD");
  keys.add("parallel.diloco.momentum", c.momentum, fraction(), "Momentum of the outer optimizer");
  keys.add_field("value", "nesterov", c, &DilocoConfig::nesterov,
                 "use Nesterov momentum; default true");
  keys.add("parallel.diloco.fragments", c.fragments, count_to(1024),
           "Fragments of the model, whose rounds end one after another, so that less is in flight "
           "at a time (Streaming DiLoCo)");
  keys.add("parallel.diloco.overlap", c.overlap, between(0, 1e9),
           "Steps that each replica group makes while a fragment is in flight; 0: groups wait");
  keys.add(
      "parallel.diloco.compress", c.compress,
      "Type in which pseudo-gradients are sent; int8 and int4 have a scale for every 128 elements");
  keys.add_field("type", "error_feedback", c, &DilocoConfig::error_feedback,
                 "add the rounding errors to the next round; default true");
  keys.add("parallel.diloco.quorum", c.quorum, at_least(1),
           "Number of replica groups with which a round may end; those that are late count in the "
           "next round; null: all");
  keys.add_field("groups", "grace", c, &DilocoConfig::grace,
                 "time that a round with its quorum waits for the other groups; default 1s",
                 at_least(0));
}

void add_async(KeyList& keys, AsyncConfig& c) {
  keys.add("parallel.async.staleness", c.staleness, between(0, 1000),
           "Maximum staleness of the parameters with which a slice is computed, in steps; 0: none, "
           "as with ddp");
  keys.add("parallel.async.policy", c.policy,
           "How a stale gradient counts. whole: fully; divided: divided by its staleness; "
           "compensated: corrected to first order (DC-ASGD)");
  keys.add("parallel.async.compensation", c.compensation, between(0, 1e6),
           "With policy compensated: factor of the correction");
  keys.add("parallel.async.wait_tolerance", c.wait_tolerance, between(0, 1000),
           "Maximum time that a worker waits for a step that is almost complete, instead of "
           "computing a slice without it, as a fraction of its time per slice; also the maximum "
           "time by which it may delay the end of a step");
  keys.add("parallel.async.prediction", c.prediction,
           "Predict stale parameters by applying the missing steps with the gradients that have "
           "arrived");
}

} // namespace

void add_parallel_keys(KeyList& keys, ParallelConfig& c) {
  add_strategy(keys, c);
  add_units(keys, c);
  add_local_sgd(keys, c.local_sgd);
  add_diloco(keys, c.diloco);
  add_async(keys, c.async);
}

} // namespace troupe
