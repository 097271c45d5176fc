// fsdp_config, and parallelism_config, which belongs to FSDP2.
#include "core/suggestion.hpp"
#include "importers/detail/sharding.hpp"
#include "importers/detail/tables.hpp"
#include "importers/detail/values.hpp"

#include <fmt/format.h>

#include <vector>

namespace troupe {

namespace of_accelerate_fsdp {
namespace {

const std::string sharding_strategies = "FULL_SHARD, SHARD_GRAD_OP, NO_SHARD, HYBRID_SHARD, "
                                        "HYBRID_SHARD_ZERO2, or 1 to 5";

ForeignOutcome map_sharding(const ForeignContext& context, const ForeignEntry& entry) {
  if (sharding_word(entry).empty())
    return wrong(
        entry, sharding_strategies,
        suggest(entry.text, std::vector<std::string>{"FULL_SHARD", "SHARD_GRAD_OP", "NO_SHARD",
                                                     "HYBRID_SHARD", "HYBRID_SHARD_ZERO2"}));
  if (is_fsdp2(context))
    return {Fate::idle, "FSDP2 uses fsdp_reshard_after_forward"};
  return mapped(sharding_settings(context));
}

ForeignOutcome map_reshard(const ForeignContext& context, const ForeignEntry& entry) {
  return is_fsdp2(context) ? switch_to("parallel.reshard_after_forward")(context, entry)
                           : map_sharding(context, entry);
}

ForeignOutcome map_version(const ForeignContext&, const ForeignEntry& entry) {
  if (const auto version = whole_of(entry).value_or(0); version < 1 || version > 2)
    return wrong(entry, "1, 2");
  return {Fate::built_in, "both versions train the same"};
}

ForeignOutcome map_offload(const ForeignContext& context, const ForeignEntry& entry) {
  const auto on = boolean_of(entry);
  if (!on)
    return wrong(entry, "true or false");
  if (!*on)
    return mapped({{"parallel.offload", "none"}});
  if (!divides_parameters(context))
    return {
        Fate::left_out,
        "each worker keeps all parameters on its device; parallel.offload: optimizer is possible"};
  return mapped({{"parallel.offload", "parameters"}});
}

ForeignOutcome map_wrap(const ForeignContext&, const ForeignEntry& entry) {
  const auto& word = entry.text;
  if (word == "TRANSFORMER_BASED_WRAP")
    return mapped({{"parallel.wrap", "per_block"}});
  if (word == "SIZE_BASED_WRAP")
    return mapped({{"parallel.wrap.min_num_params", "1000000", Firmness::default_value}});
  if (word == "NO_WRAP") // the whole model is one unit
    return mapped({{"parallel.wrap.min_num_params", "1000000000000"}});
  return unknown_word(entry, {"TRANSFORMER_BASED_WRAP", "SIZE_BASED_WRAP", "NO_WRAP"});
}

ForeignOutcome map_min_params(const ForeignContext& context, const ForeignEntry& entry) {
  const auto count = whole_of(entry);
  if (!count || *count < 0)
    return wrong(entry, "a whole number, at least 1");
  const auto* policy = context.find("fsdp_config.fsdp_auto_wrap_policy");
  if (*count == 0 || (policy && policy->text != "SIZE_BASED_WRAP"))
    return {Fate::idle, "it is only for SIZE_BASED_WRAP"};
  // Older files do not have the policy as a separate key.
  return mapped({{"parallel.wrap.min_num_params", fmt::format("{}", *count)}});
}

ForeignOutcome map_prefetch(const ForeignContext&, const ForeignEntry& entry) {
  if (entry.text == "BACKWARD_PRE" || whole_of(entry) == 1)
    return mapped({{"parallel.prefetch", "1"}});
  if (entry.text == "BACKWARD_POST" || entry.text == "NO_PREFETCH" || is_neutral(entry) ||
      whole_of(entry) == 2)
    return mapped({{"parallel.prefetch", "0"}});
  return unknown_word(entry, {"BACKWARD_PRE", "BACKWARD_POST", "NO_PREFETCH"});
}

/// Names in upper or lower case, or PyTorch's numbers for them.
ForeignOutcome map_state_dict(const ForeignContext&, const ForeignEntry& entry) {
  const auto word = word_of(entry);
  const auto number = whole_of(entry);
  if (word == "full_state_dict" || number == 1)
    return mapped({{"checkpoint.state", "full"}});
  if (word == "sharded_state_dict" || number == 3)
    return mapped({{"checkpoint.state", "sharded"}});
  if (word == "local_state_dict" || number == 2)
    return mapped({{"checkpoint.state", "sharded"}}, "shards that any number of workers can load");
  return unknown_word(entry, {"FULL_STATE_DICT", "SHARDED_STATE_DICT", "LOCAL_STATE_DICT"});
}

/// The product of both sizes is the number of processes.
ForeignOutcome map_groups(const ForeignContext& context, const ForeignEntry& entry) {
  if (const auto size = whole_of(entry); !size || *size < 1)
    return wrong(entry, "a whole number, at least 1");
  const auto of = [&](std::string_view name) {
    return whole_at(context, "parallelism_config.parallelism_config_" + std::string{name})
        .value_or(1);
  };
  const auto shards = of("dp_shard_size"), copies = of("dp_replicate_size");
  if (copies > context.world.processes || shards > context.world.processes / copies ||
      shards * copies != context.world.processes)
    return contradicts(fmt::format("dp_replicate_size {} x dp_shard_size {} is not num_processes, "
                                   "which is {}",
                                   copies, shards, context.world.processes));
  return mapped(sharding_settings(context));
}

ForeignRows sharding_rows() {
  return {
      {"version", Fate::built_in, "both versions train the same", map_version},
      {"sharding_strategy", Fate::mapped,
       "`parallel.strategy`: FULL_SHARD is fsdp; SHARD_GRAD_OP fsdp with "
       "`reshard_after_forward: false`; NO_SHARD ddp; HYBRID_SHARD hsdp with `shard_group` of one "
       "machine's processes",
       map_sharding},
      {"reshard_after_forward", Fate::mapped,
       "`parallel.reshard_after_forward`; with FSDP1 it names a sharding strategy", map_reshard},
      {"offload_params", Fate::mapped, "`parallel.offload: parameters`", map_offload},
      {"backward_prefetch", Fate::mapped,
       "`parallel.prefetch`: BACKWARD_PRE is 1, BACKWARD_POST and NO_PREFETCH 0", map_prefetch},
      {"backward_prefetch_policy", Fate::mapped,
       "`parallel.prefetch`: the old name of fsdp_backward_prefetch", map_prefetch},
      {"activation_checkpointing", Fate::mapped, "`train.recompute: block`",
       switch_to("train.recompute", "block", "none")},
      {"state_dict_type", Fate::mapped,
       "`checkpoint.state`: FULL_STATE_DICT is full, SHARDED_STATE_DICT and LOCAL_STATE_DICT "
       "sharded; either loads with any number of workers",
       map_state_dict},
  };
}

ForeignRows wrap_rows() {
  return {
      {"auto_wrap_policy", Fate::mapped,
       "`parallel.wrap`: TRANSFORMER_BASED_WRAP is per_block, SIZE_BASED_WRAP {min_num_params: N}, "
       "NO_WRAP one unit of everything",
       map_wrap},
      {"transformer_layer_cls_to_wrap", Fate::left_out,
       "names of Python classes; `parallel.wrap` takes names of blocks: [layer1, layer2.0]"},
      {"min_num_params", Fate::mapped, "`parallel.wrap: {min_num_params: N}`", map_min_params},
      {"ignored_modules", Fate::refused, "all workers train every parameter"},
  };
}

ForeignRows built_in_rows() {
  return {
      {"forward_prefetch", Fate::built_in, "`parallel.prefetch` applies to forward and backward"},
      {"sync_module_states", Fate::built_in, "all workers start with the same parameters"},
      {"use_orig_params", Fate::built_in, "parameters keep their own names and settings"},
      {"cpu_ram_efficient_loading", Fate::built_in,
       "a node holds one copy of the parameters while it loads them"},
  };
}

ForeignRows group_rows() {
  const std::string_view groups = "`parallel.strategy: hsdp` and `parallel.shard_group`";
  return {
      {"dp_replicate_size", Fate::mapped, groups, map_groups},
      {"dp_shard_size", Fate::mapped, groups, map_groups},
  };
}

ForeignRows other_parallelism_rows() {
  return joined({refused("troupe shards data and state, not layers or sequences; leave it at 1",
                         {"tp_size", "cp_size", "sp_size"}, "1"),
                 left_out("it is only for cp_size", {"cp_backend", "cp_comm_strategy"}),
                 left_out("it is only for sp_size",
                          {"sp_backend", "sp_seq_length", "sp_seq_length_is_variable",
                           "sp_attn_implementation"})});
}

} // namespace
} // namespace of_accelerate_fsdp

ForeignRows accelerate_fsdp_rows() {
  using namespace of_accelerate_fsdp;
  constexpr std::string_view fsdp = "distributed_type=FSDP";
  return joined(
      {below("fsdp_config.fsdp_",
             joined({only_with(fsdp, joined({sharding_rows(), wrap_rows()})), built_in_rows()})),
       below("parallelism_config.parallelism_config_",
             joined({only_with(fsdp, group_rows()), other_parallelism_rows()}))});
}

} // namespace troupe
