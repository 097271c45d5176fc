#include "importers/detail/sharding.hpp"

#include "importers/detail/values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

namespace troupe {

namespace {

constexpr std::array<std::string_view, 5> sharding_names = {
    "FULL_SHARD", "SHARD_GRAD_OP", "NO_SHARD", "HYBRID_SHARD", "HYBRID_SHARD_ZERO2"};

std::string upper(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::toupper(c); });
  return text;
}

/// parallelism_config shards within groups and replicates across them.
std::int64_t rank_states(const ForeignContext& context) {
  return whole_at(context, "parallelism_config.parallelism_config_dp_replicate_size").value_or(1);
}

std::int64_t group_size(const ForeignContext& context) {
  return whole_at(context, "parallelism_config.parallelism_config_dp_shard_size")
      .value_or(context.world.per_machine());
}

std::string fsdp2_sharding(const ForeignContext& context) {
  const auto* reshard = context.find("fsdp_config.fsdp_reshard_after_forward");
  const bool keeps = reshard && boolean_of(*reshard) == false;
  if (rank_states(context) > 1)
    return std::string{keeps ? sharding_names[4] : sharding_names[3]};
  return std::string{keeps ? sharding_names[1] : sharding_names[0]};
}

/// Returns the strategy that FSDP1's or FSDP2's keys set; FSDP's default if neither is set.
std::string fsdp_sharding(const ForeignContext& context) {
  if (is_fsdp2(context))
    return fsdp2_sharding(context);
  for (const auto* key :
       {"fsdp_config.fsdp_sharding_strategy", "fsdp_config.fsdp_reshard_after_forward"})
    if (const auto* entry = context.find(key))
      if (auto word = sharding_word(*entry); !word.empty())
        return word;
  return std::string{sharding_names[0]};
}

} // namespace

bool is_fsdp2(const ForeignContext& context) {
  return whole_at(context, "fsdp_config.fsdp_version") == 2;
}

std::string sharding_word(const ForeignEntry& entry) {
  if (const auto number = whole_of(entry))
    return *number >= 1 && *number <= 5
               ? std::string{sharding_names[static_cast<std::size_t>(*number) - 1]}
               : std::string{};
  const auto word = upper(entry.text);
  return std::ranges::find(sharding_names, word) == sharding_names.end() ? std::string{} : word;
}

bool divides_parameters(const ForeignContext& context) {
  const auto word = fsdp_sharding(context);
  return word != "NO_SHARD" && (!word.starts_with("HYBRID") || group_size(context) > 1);
}

ForeignSettings sharding_settings(const ForeignContext& context) {
  const auto word = fsdp_sharding(context);
  if (!divides_parameters(context)) // each process has everything
    return {{"parallel.strategy", "ddp"}};
  const bool hybrid = word.starts_with("HYBRID");
  ForeignSettings settings = {{"parallel.strategy", hybrid ? "hsdp" : "fsdp"}};
  if (hybrid)
    settings.push_back({"parallel.shard_group", fmt::format("{}", group_size(context))});
  if (word == "SHARD_GRAD_OP" || word == "HYBRID_SHARD_ZERO2")
    settings.push_back({"parallel.reshard_after_forward", "false"});
  return settings;
}

} // namespace troupe
