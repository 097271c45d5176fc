// zero_optimization: the sharded state, and its communication.
#include "importers/detail/tables.hpp"
#include "importers/detail/values.hpp"
#include "importers/detail/zero_stage.hpp"

#include <fmt/format.h>

namespace troupe {

namespace of_deepspeed_zero {
namespace {

bool has_groups(const ForeignContext& context) {
  return deepspeed_stage(context) == 3 &&
         whole_at(context, "zero_optimization.mics_shard_size").value_or(-1) > 1;
}

ForeignOutcome map_stage(const ForeignContext& context, const ForeignEntry& entry) {
  if (has_groups(context))
    return mapped({{"parallel.strategy", "hsdp"}});
  return map_zero_stage(context, entry);
}

/// MiCS: shards within groups and replicates across them.
ForeignOutcome map_groups(const ForeignContext& context, const ForeignEntry& entry) {
  const auto size = whole_of(entry);
  if (!size)
    return wrong(entry, "a whole number, -1 for none");
  if (!has_groups(context))
    return {Fate::idle, "only stage 3 has groups, of at least 2"};
  return mapped(
      {{"parallel.strategy", "hsdp"}, {"parallel.shard_group", fmt::format("{}", *size)}});
}

/// DeepSpeed counts elements; gradients are sent in fp32.
ForeignOutcome map_bucket(const ForeignContext& context, const ForeignEntry& entry) {
  const auto elements = whole_of(entry);
  if (!elements || *elements < 0)
    return wrong(entry, "a whole number, at least 0, or \"auto\"");
  if (deepspeed_stage(context) == 3)
    return {Fate::left_out, "with stage 3 the units of parallel.wrap are sent together"};
  if (*elements < 256) // the smallest bucket is 1 KiB
    return mapped({{"parallel.bucket_size", "1024"}}, "the minimum");
  return mapped({{"parallel.bucket_size", fmt::format("{}", *elements * 4)}},
                "a smaller size overlaps more");
}

ForeignOutcome map_prefetch(const ForeignContext& context, const ForeignEntry& entry) {
  const auto elements = whole_of(entry);
  if (!elements || *elements < 0)
    return wrong(entry, "a whole number, at least 0, or \"auto\"");
  if (deepspeed_stage(context) != 3)
    return {Fate::idle, "it is only for stage 3"};
  return mapped({{"parallel.prefetch", *elements == 0 ? "0" : "1"}},
                "troupe counts blocks, not elements");
}

ForeignRows stage_rows() {
  return {
      {"stage", Fate::mapped, "`parallel.strategy`: 0 is ddp, 1 zero1, 2 zero2, 3 zero3",
       map_stage},
      {"mics_shard_size", Fate::mapped, "`parallel.strategy: hsdp` and `parallel.shard_group`",
       map_groups},
      {"reduce_bucket_size", Fate::mapped,
       "`parallel.bucket_size`: times 4, because it counts elements; not with stage 3", map_bucket},
      {"stage3_prefetch_bucket_size", Fate::mapped,
       "`parallel.prefetch`, which counts blocks: 0 if it is 0, otherwise 1", map_prefetch},
      {"prefetch_bucket_size", Fate::mapped,
       "`parallel.prefetch`: another name of stage3_prefetch_bucket_size", map_prefetch},
  };
}

ForeignRows saving_rows() {
  return {
      {"stage3_gather_16bit_weights_on_model_save", Fate::mapped,
       "`checkpoint.state`, with stage 3: true is full, in fp32; false sharded",
       map_gathered_weights},
      {"gather_16bit_weights_on_model_save", Fate::mapped,
       "`checkpoint.state`: another name of stage3_gather_16bit_weights_on_model_save",
       map_gathered_weights},
      {"stage3_gather_fp16_weights_on_model_save", Fate::mapped,
       "`checkpoint.state`: the old name of stage3_gather_16bit_weights_on_model_save",
       map_gathered_weights},
  };
}

ForeignRows built_in_rows() {
  constexpr auto fate = Fate::built_in;
  return {
      {"overlap_comm", fate, "gradients are sent during backward"},
      {"contiguous_gradients", fate, "gradients are in flat buffers"},
      {"reduce_scatter", fate, "gradients are reduced to the worker that owns their shard"},
      {"allgather_partitions", fate, "parameters are gathered by all-gather"},
      {"use_multi_rank_bucket_allreduce", fate, "a bucket is sent to all its workers at once"},
      {"grad_hooks", fate, "gradients are sent during backward"},
      {"round_robin_gradients", fate, "each worker has a shard of every bucket"},
      {"load_from_fp32_weights", fate, "checkpoints contain parameters in fp32"},
      {"elastic_checkpoint", fate, "checkpoints load with any number of workers"},
      {"pipeline_loading_checkpoint", fate, "checkpoints load with any number of workers"},
      {"ignore_unused_parameters", fate, "every parameter of a graph has a gradient"},
      {"override_module_apply", fate, "all workers start with the same parameters"},
      {"memory_efficient_linear", fate, "the memory plan keeps what backward reads"},
      {"mics_hierarchical_params_gather", fate, "hsdp gathers within a group"},
      {"legacy_stage1", fate, "there is only one zero1"},
  };
}

ForeignRows left_out_rows() {
  return joined({
      left_out("a bucket is gathered in the size in which it was reduced (reduce_bucket_size)",
               {"allgather_bucket_size"}),
      left_out("the optimizer works bucket by bucket", {"sub_group_size"}),
      left_out("every parameter is sharded",
               {"stage3_param_persistence_threshold", "param_persistence_threshold",
                "stage3_model_persistence_threshold", "model_persistence_threshold"}),
      left_out("parallel.wrap and prefetch control what is gathered, in blocks",
               {"stage3_max_live_parameters", "max_live_parameters", "stage3_max_reuse_distance",
                "max_reuse_distance", "stage3_module_granularity_threshold",
                "module_granularity_threshold", "leaf_module.*"}),
      left_out("parameters are gathered by all-gather",
               {"stage3_use_all_reduce_for_fetch_params", "use_all_reduce_for_fetch_params"}),
      left_out("parallel.prefetch: 0 gathers one at a time",
               {"stage3_allgather_sequential", "allgather_sequential"}),
      left_out("troupe has no trace cache", {"log_trace_cache_warnings"}),
      left_out("checks are always on", {"enable_sanity_checks"}),
      left_out("troupe has no Muon", {"save_muon_momentum_buffer_in_memory"}),
      left_out("hsdp shards within groups: mics_shard_size", {"zero_hpz_partition_size"}, "1"),
  });
}

ForeignRows refused_rows() {
  return joined(
      {refused("nothing is sent quantized; parallel.mixed_precision halves the traffic",
               {"zero_quantized_weights", "zero_quantized_nontrainable_weights",
                "zero_quantized_gradients", "zeropp_loco_param.*"}),
       refused("each update is complete before the next step: parallel.offload", {"zenflow.*"})});
}

} // namespace
} // namespace of_deepspeed_zero

ForeignRows deepspeed_zero_rows() {
  using namespace of_deepspeed_zero;
  return below("zero_optimization.", joined({stage_rows(), saving_rows(), built_in_rows(),
                                             left_out_rows(), refused_rows()}));
}

} // namespace troupe
