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

using Context = ForeignContext;
using Entry = ForeignEntry;
using Outcome = ForeignOutcome;

constexpr std::string_view fsdp = "distributed_type=FSDP";
const std::string sharding_strategies = "FULL_SHARD, SHARD_GRAD_OP, NO_SHARD, HYBRID_SHARD, "
                                        "HYBRID_SHARD_ZERO2, or 1 to 5";

Outcome map_sharding(const Context& context, const Entry& entry) {
  if (sharding_word(entry).empty())
    return wrong(
        entry, sharding_strategies,
        suggest(entry.text, std::vector<std::string>{"FULL_SHARD", "SHARD_GRAD_OP", "NO_SHARD",
                                                     "HYBRID_SHARD", "HYBRID_SHARD_ZERO2"}));
  if (is_fsdp2(context))
    return with_fate(Fate::idle, "FSDP2 uses fsdp_reshard_after_forward");
  return mapped(sharding_settings(context));
}

Outcome map_reshard(const Context& context, const Entry& entry) {
  if (!is_fsdp2(context))
    return map_sharding(context, entry);
  const auto reshards = boolean_of(entry);
  if (!reshards)
    return wrong(entry, "true or false");
  return mapped({{"parallel.reshard_after_forward", *reshards ? "true" : "false"}});
}

Outcome map_version(const Context&, const Entry& entry) {
  if (const auto version = whole_of(entry).value_or(0); version < 1 || version > 2)
    return wrong(entry, "1, 2");
  return with_fate(Fate::built_in, "both versions train the same");
}

Outcome map_offload(const Context& context, const Entry& entry) {
  const auto on = boolean_of(entry);
  if (!on)
    return wrong(entry, "true or false");
  if (!*on)
    return mapped({{"parallel.offload", "none"}});
  if (!divides_parameters(context))
    return with_fate(
        Fate::left_out,
        "each worker keeps all parameters on its device; parallel.offload: optimizer is possible");
  return mapped({{"parallel.offload", "parameters"}});
}

Outcome map_wrap(const Context&, const Entry& entry) {
  const auto& word = entry.text;
  if (word == "TRANSFORMER_BASED_WRAP")
    return mapped({{"parallel.wrap", "per_block"}});
  if (word == "SIZE_BASED_WRAP")
    return mapped({{"parallel.wrap.min_num_params", "1000000", Firmness::default_value}});
  if (word == "NO_WRAP") // the whole model is one unit
    return mapped({{"parallel.wrap.min_num_params", "1000000000000"}});
  return wrong(entry, "TRANSFORMER_BASED_WRAP, SIZE_BASED_WRAP, NO_WRAP",
               suggest(word, std::vector<std::string>{"TRANSFORMER_BASED_WRAP", "SIZE_BASED_WRAP",
                                                      "NO_WRAP"}));
}

Outcome map_min_params(const Context& context, const Entry& entry) {
  const auto count = whole_of(entry);
  if (!count || *count < 0)
    return wrong(entry, "a whole number, at least 1");
  const auto* policy = context.find("fsdp_config.fsdp_auto_wrap_policy");
  if (*count == 0 || (policy && policy->text != "SIZE_BASED_WRAP"))
    return with_fate(Fate::idle, "it is only for SIZE_BASED_WRAP");
  // Older files do not have the policy as a separate key.
  return mapped({{"parallel.wrap.min_num_params", fmt::format("{}", *count)}});
}

Outcome map_prefetch(const Context&, const Entry& entry) {
  if (entry.text == "BACKWARD_PRE" || whole_of(entry) == 1)
    return mapped({{"parallel.prefetch", "1"}});
  if (entry.text == "BACKWARD_POST" || entry.text == "NO_PREFETCH" || is_neutral(entry) ||
      whole_of(entry) == 2)
    return mapped({{"parallel.prefetch", "0"}});
  return wrong(entry, "BACKWARD_PRE, BACKWARD_POST, NO_PREFETCH",
               suggest(entry.text,
                       std::vector<std::string>{"BACKWARD_PRE", "BACKWARD_POST", "NO_PREFETCH"}));
}

Outcome map_recompute(const Context&, const Entry& entry) {
  const auto on = boolean_of(entry);
  if (!on)
    return wrong(entry, "true or false");
  return mapped({{"train.recompute", *on ? "block" : "none"}});
}

/// Names in upper or lower case, or PyTorch's numbers for them.
Outcome map_state_dict(const Context&, const Entry& entry) {
  const auto word = word_of(entry);
  const auto number = whole_of(entry);
  if (word == "full_state_dict" || number == 1)
    return mapped({{"checkpoint.state", "full"}});
  if (word == "sharded_state_dict" || number == 3)
    return mapped({{"checkpoint.state", "sharded"}});
  if (word == "local_state_dict" || number == 2)
    return mapped({{"checkpoint.state", "sharded"}}, "shards that any number of workers can load");
  return wrong(entry, "FULL_STATE_DICT, SHARDED_STATE_DICT, LOCAL_STATE_DICT",
               suggest(entry.text, std::vector<std::string>{"FULL_STATE_DICT", "SHARDED_STATE_DICT",
                                                            "LOCAL_STATE_DICT"}));
}

/// The product of both sizes is the number of processes.
Outcome map_groups(const Context& context, const Entry& entry) {
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

ForeignRows wrap_rows() {
  return {
      {.key = "fsdp_config.fsdp_auto_wrap_policy",
       .default_value = Fate::mapped,
       .says = "`parallel.wrap`: TRANSFORMER_BASED_WRAP is per_block, SIZE_BASED_WRAP "
               "{min_num_params: N}, NO_WRAP one unit of everything",
       .when = fsdp,
       .map = map_wrap},
      {.key = "fsdp_config.fsdp_transformer_layer_cls_to_wrap",
       .default_value = Fate::left_out,
       .says = "names of Python classes; `parallel.wrap` takes names of blocks: "
               "[layer1, layer2.0]",
       .when = fsdp},
      {.key = "fsdp_config.fsdp_min_num_params",
       .default_value = Fate::mapped,
       .says = "`parallel.wrap: {min_num_params: N}`",
       .when = fsdp,
       .map = map_min_params},
      {.key = "fsdp_config.fsdp_ignored_modules",
       .default_value = Fate::refused,
       .says = "all workers train every parameter",
       .when = fsdp},
  };
}

ForeignRows sharding_rows() {
  return {
      {.key = "fsdp_config.fsdp_version",
       .default_value = Fate::built_in,
       .says = "both versions train the same",
       .when = fsdp,
       .map = map_version},
      {.key = "fsdp_config.fsdp_sharding_strategy",
       .default_value = Fate::mapped,
       .says = "`parallel.strategy`: FULL_SHARD is fsdp; SHARD_GRAD_OP fsdp with "
               "`reshard_after_forward: false`; NO_SHARD ddp; HYBRID_SHARD hsdp with "
               "`shard_group` of one machine's processes",
       .when = fsdp,
       .map = map_sharding},
      {.key = "fsdp_config.fsdp_reshard_after_forward",
       .default_value = Fate::mapped,
       .says = "`parallel.reshard_after_forward`; with FSDP1 it names a sharding strategy",
       .when = fsdp,
       .map = map_reshard},
      {.key = "fsdp_config.fsdp_offload_params",
       .default_value = Fate::mapped,
       .says = "`parallel.offload: parameters`",
       .when = fsdp,
       .map = map_offload},
      {.key = "fsdp_config.fsdp_backward_prefetch",
       .default_value = Fate::mapped,
       .says = "`parallel.prefetch`: BACKWARD_PRE is 1, BACKWARD_POST and NO_PREFETCH 0",
       .when = fsdp,
       .map = map_prefetch},
      {.key = "fsdp_config.fsdp_backward_prefetch_policy",
       .default_value = Fate::mapped,
       .says = "`parallel.prefetch`: the old name of fsdp_backward_prefetch",
       .when = fsdp,
       .map = map_prefetch},
      {.key = "fsdp_config.fsdp_activation_checkpointing",
       .default_value = Fate::mapped,
       .says = "`train.recompute: block`",
       .when = fsdp,
       .map = map_recompute},
      {.key = "fsdp_config.fsdp_state_dict_type",
       .default_value = Fate::mapped,
       .says = "`checkpoint.state`: FULL_STATE_DICT is full, SHARDED_STATE_DICT and "
               "LOCAL_STATE_DICT sharded; either loads with any number of workers",
       .when = fsdp,
       .map = map_state_dict},
  };
}

ForeignRows built_in_rows() {
  return {
      {.key = "fsdp_config.fsdp_forward_prefetch",
       .default_value = Fate::built_in,
       .says = "`parallel.prefetch` applies to forward and backward"},
      {.key = "fsdp_config.fsdp_sync_module_states",
       .default_value = Fate::built_in,
       .says = "all workers start with the same parameters"},
      {.key = "fsdp_config.fsdp_use_orig_params",
       .default_value = Fate::built_in,
       .says = "parameters keep their own names and settings"},
      {.key = "fsdp_config.fsdp_cpu_ram_efficient_loading",
       .default_value = Fate::built_in,
       .says = "a node holds one copy of the parameters while it loads them"},
  };
}

ForeignRows parallelism_rows() {
  const std::string_view groups = "`parallel.strategy: hsdp` and `parallel.shard_group`";
  const std::string_view none =
      "troupe shards data and state, not layers or sequences; leave it at 1";
  return {
      {.key = "parallelism_config.parallelism_config_dp_replicate_size",
       .default_value = Fate::mapped,
       .says = groups,
       .when = fsdp,
       .map = map_groups},
      {.key = "parallelism_config.parallelism_config_dp_shard_size",
       .default_value = Fate::mapped,
       .says = groups,
       .when = fsdp,
       .map = map_groups},
      {.key = "parallelism_config.parallelism_config_tp_size",
       .default_value = Fate::refused,
       .says = none,
       .neutral = "1"},
      {.key = "parallelism_config.parallelism_config_cp_size",
       .default_value = Fate::refused,
       .says = none,
       .neutral = "1"},
      {.key = "parallelism_config.parallelism_config_sp_size",
       .default_value = Fate::refused,
       .says = none,
       .neutral = "1"},
      {.key = "parallelism_config.parallelism_config_cp_backend",
       .default_value = Fate::left_out,
       .says = "it is only for cp_size"},
      {.key = "parallelism_config.parallelism_config_cp_comm_strategy",
       .default_value = Fate::left_out,
       .says = "it is only for cp_size"},
      {.key = "parallelism_config.parallelism_config_sp_backend",
       .default_value = Fate::left_out,
       .says = "it is only for sp_size"},
      {.key = "parallelism_config.parallelism_config_sp_seq_length",
       .default_value = Fate::left_out,
       .says = "it is only for sp_size"},
      {.key = "parallelism_config.parallelism_config_sp_seq_length_is_variable",
       .default_value = Fate::left_out,
       .says = "it is only for sp_size"},
      {.key = "parallelism_config.parallelism_config_sp_attn_implementation",
       .default_value = Fate::left_out,
       .says = "it is only for sp_size"},
  };
}

} // namespace
} // namespace of_accelerate_fsdp

ForeignRows accelerate_fsdp_rows() {
  using namespace of_accelerate_fsdp;
  auto rows = sharding_rows();
  for (auto* part : {wrap_rows, built_in_rows, parallelism_rows})
    for (auto& row : part())
      rows.push_back(row);
  return rows;
}

} // namespace troupe
