// zero_optimization: the sharded state, and its communication.
#include "importers/detail/tables.hpp"
#include "importers/detail/values.hpp"
#include "importers/detail/zero_stage.hpp"

#include <fmt/format.h>

namespace troupe {

namespace of_deepspeed_zero {
namespace {

using Context = ForeignContext;
using Entry = ForeignEntry;
using Outcome = ForeignOutcome;

std::int64_t stage_of(const Context& context) {
  return whole_at(context, "zero_optimization.stage").value_or(0);
}

bool has_groups(const Context& context) {
  return stage_of(context) == 3 &&
         whole_at(context, "zero_optimization.mics_shard_size").value_or(-1) > 1;
}

Outcome map_stage(const Context& context, const Entry& entry) {
  auto settings = zero_stage_settings(whole_of(entry).value_or(-1));
  if (settings.empty())
    return wrong(entry, "0, 1, 2, 3");
  if (has_groups(context))
    return mapped({{"parallel.strategy", "hsdp"}});
  return mapped(std::move(settings));
}

/// MiCS: shards within groups and replicates across them.
Outcome map_groups(const Context& context, const Entry& entry) {
  const auto size = whole_of(entry);
  if (!size)
    return wrong(entry, "a whole number, -1 for none");
  if (!has_groups(context))
    return with_fate(Fate::idle, "only stage 3 has groups, of at least 2");
  return mapped(
      {{"parallel.strategy", "hsdp"}, {"parallel.shard_group", fmt::format("{}", *size)}});
}

/// DeepSpeed counts elements; gradients are sent in fp32.
Outcome map_bucket(const Context& context, const Entry& entry) {
  const auto elements = whole_of(entry);
  if (!elements || *elements < 0)
    return wrong(entry, "a whole number, at least 0, or \"auto\"");
  if (stage_of(context) == 3)
    return with_fate(Fate::left_out, "with stage 3 the units of parallel.wrap are sent together");
  if (*elements < 256) // the smallest bucket is 1 KiB
    return mapped({{"parallel.bucket_size", "1024"}}, "the minimum");
  return mapped({{"parallel.bucket_size", fmt::format("{}", *elements * 4)}},
                "a smaller size overlaps more");
}

Outcome map_prefetch(const Context& context, const Entry& entry) {
  const auto elements = whole_of(entry);
  if (!elements || *elements < 0)
    return wrong(entry, "a whole number, at least 0, or \"auto\"");
  if (stage_of(context) != 3)
    return with_fate(Fate::idle, "it is only for stage 3");
  return mapped({{"parallel.prefetch", *elements == 0 ? "0" : "1"}},
                "troupe counts blocks, not elements");
}

Outcome map_weights(const Context& context, const Entry& entry) {
  return map_gathered_weights(entry, stage_of(context));
}

ForeignRows stage_rows() {
  return {
      {.key = "zero_optimization.stage",
       .default_value = Fate::mapped,
       .says = "`parallel.strategy`: 0 is ddp, 1 zero1, 2 zero2, 3 zero3",
       .map = map_stage},
      {.key = "zero_optimization.mics_shard_size",
       .default_value = Fate::mapped,
       .says = "`parallel.strategy: hsdp` and `parallel.shard_group`",
       .map = map_groups},
      {.key = "zero_optimization.reduce_bucket_size",
       .default_value = Fate::mapped,
       .says = "`parallel.bucket_size`: times 4, because it counts elements; not with stage 3",
       .map = map_bucket},
      {.key = "zero_optimization.stage3_prefetch_bucket_size",
       .default_value = Fate::mapped,
       .says = "`parallel.prefetch`, which counts blocks: 0 if it is 0, otherwise 1",
       .map = map_prefetch},
      {.key = "zero_optimization.prefetch_bucket_size",
       .default_value = Fate::mapped,
       .says = "`parallel.prefetch`: another name of stage3_prefetch_bucket_size",
       .map = map_prefetch},
  };
}

ForeignRows saving_rows() {
  return {
      {.key = "zero_optimization.stage3_gather_16bit_weights_on_model_save",
       .default_value = Fate::mapped,
       .says = "`checkpoint.state`, with stage 3: true is full, in fp32; false sharded",
       .map = map_weights},
      {.key = "zero_optimization.gather_16bit_weights_on_model_save",
       .default_value = Fate::mapped,
       .says = "`checkpoint.state`: another name of stage3_gather_16bit_weights_on_model_save",
       .map = map_weights},
      {.key = "zero_optimization.stage3_gather_fp16_weights_on_model_save",
       .default_value = Fate::mapped,
       .says = "`checkpoint.state`: the old name of stage3_gather_16bit_weights_on_model_save",
       .map = map_weights},
  };
}

struct Note {
  const char* name;
  std::string_view says;
};

ForeignRows rows_of(std::span<const Note> notes, Fate fate) {
  ForeignRows rows;
  for (const auto& note : notes)
    rows.push_back({.key = note.name, .default_value = fate, .says = note.says});
  return rows;
}

#define TROUPE_ZERO "zero_optimization."

ForeignRows built_in_rows() {
  static constexpr std::string_view loads = "checkpoints load with any number of workers";
  static constexpr Note notes[] = {
      {TROUPE_ZERO "overlap_comm", "gradients are sent during backward"},
      {TROUPE_ZERO "contiguous_gradients", "gradients are in flat buffers"},
      {TROUPE_ZERO "reduce_scatter", "gradients are reduced to the worker that owns their shard"},
      {TROUPE_ZERO "allgather_partitions", "parameters are gathered by all-gather"},
      {TROUPE_ZERO "use_multi_rank_bucket_allreduce",
       "a bucket is sent to all its workers at once"},
      {TROUPE_ZERO "grad_hooks", "gradients are sent during backward"},
      {TROUPE_ZERO "round_robin_gradients", "each worker has a shard of every bucket"},
      {TROUPE_ZERO "load_from_fp32_weights", "checkpoints contain parameters in fp32"},
      {TROUPE_ZERO "elastic_checkpoint", loads},
      {TROUPE_ZERO "pipeline_loading_checkpoint", loads},
      {TROUPE_ZERO "ignore_unused_parameters", "every parameter of a graph has a gradient"},
      {TROUPE_ZERO "override_module_apply", "all workers start with the same parameters"},
      {TROUPE_ZERO "memory_efficient_linear", "the memory plan keeps what backward reads"},
      {TROUPE_ZERO "mics_hierarchical_params_gather", "hsdp gathers within a group"},
      {TROUPE_ZERO "legacy_stage1", "there is only one zero1"},
  };
  return rows_of(notes, Fate::built_in);
}

ForeignRows left_out_rows() {
  static constexpr std::string_view blocks =
      "parallel.wrap and prefetch control what is gathered, in blocks";
  static constexpr Note notes[] = {
      {TROUPE_ZERO "allgather_bucket_size",
       "a bucket is gathered in the size in which it was reduced (reduce_bucket_size)"},
      {TROUPE_ZERO "sub_group_size", "the optimizer works bucket by bucket"},
      {TROUPE_ZERO "stage3_param_persistence_threshold", "every parameter is sharded"},
      {TROUPE_ZERO "param_persistence_threshold", "every parameter is sharded"},
      {TROUPE_ZERO "stage3_model_persistence_threshold", "every parameter is sharded"},
      {TROUPE_ZERO "model_persistence_threshold", "every parameter is sharded"},
      {TROUPE_ZERO "stage3_max_live_parameters", blocks},
      {TROUPE_ZERO "max_live_parameters", blocks},
      {TROUPE_ZERO "stage3_max_reuse_distance", blocks},
      {TROUPE_ZERO "max_reuse_distance", blocks},
      {TROUPE_ZERO "stage3_module_granularity_threshold", blocks},
      {TROUPE_ZERO "module_granularity_threshold", blocks},
      {TROUPE_ZERO "leaf_module.*", blocks},
      {TROUPE_ZERO "stage3_use_all_reduce_for_fetch_params", "parameters are gathered by "
                                                             "all-gather"},
      {TROUPE_ZERO "use_all_reduce_for_fetch_params", "parameters are gathered by all-gather"},
      {TROUPE_ZERO "stage3_allgather_sequential", "parallel.prefetch: 0 gathers one at a time"},
      {TROUPE_ZERO "allgather_sequential", "parallel.prefetch: 0 gathers one at a time"},
      {TROUPE_ZERO "log_trace_cache_warnings", "troupe has no trace cache"},
      {TROUPE_ZERO "enable_sanity_checks", "checks are always on"},
      {TROUPE_ZERO "save_muon_momentum_buffer_in_memory", "troupe has no Muon"},
  };
  auto rows = rows_of(notes, Fate::left_out);
  rows.push_back({.key = TROUPE_ZERO "zero_hpz_partition_size",
                  .default_value = Fate::left_out,
                  .says = "hsdp shards within groups: mics_shard_size",
                  .neutral = "1"});
  return rows;
}

ForeignRows refused_rows() {
  static constexpr std::string_view whole =
      "nothing is sent quantized; parallel.mixed_precision halves the traffic";
  static constexpr Note notes[] = {
      {TROUPE_ZERO "zero_quantized_weights", whole},
      {TROUPE_ZERO "zero_quantized_nontrainable_weights", whole},
      {TROUPE_ZERO "zero_quantized_gradients", whole},
      {TROUPE_ZERO "zeropp_loco_param.*", whole},
      {TROUPE_ZERO "zenflow.*", "each update is complete before the next step: parallel.offload"},
  };
  return rows_of(notes, Fate::refused);
}

#undef TROUPE_ZERO

} // namespace
} // namespace of_deepspeed_zero

ForeignRows deepspeed_zero_rows() {
  using namespace of_deepspeed_zero;
  auto rows = stage_rows();
  for (const auto& row : saving_rows())
    rows.push_back(row);
  for (auto* part : {built_in_rows, left_out_rows, refused_rows})
    for (auto& row : part())
      rows.push_back(row);
  return rows;
}

} // namespace troupe
