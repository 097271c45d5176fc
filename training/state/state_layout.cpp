#include "training/state/state_layout.hpp"

#include <algorithm>

namespace troupe::training {

namespace {

/// Slot name in checkpoints, in addition to optimizer_slot_names.
constexpr std::string_view outer_slot = "outer_momentum";

std::vector<std::string> all_slots(const StateOptions& options) {
  std::vector<std::string> slots{options.optimizer_slots.begin(), options.optimizer_slots.end()};
  if (options.outer_momentum)
    slots.emplace_back(outer_slot);
  return slots;
}

FlatPlan plan_of(const StorageLayout& storage, const StateOptions& options) {
  return plan_flat(options.buckets.empty() ? wrap_by_size(storage.unit_elements, SIZE_MAX)
                                           : options.buckets,
                   storage.unit_elements, static_cast<std::size_t>(options.strategy.shards));
}

StatePart saved_part(const FlatPlan& plan, const Strategy& strategy, int rank, bool saves_shard) {
  return saves_shard ? StatePart::of_rank(plan, strategy, rank) : StatePart::whole(plan);
}

} // namespace

std::vector<std::string_view> optimizer_slot_names(const OptimizerArguments& optimizer) {
  if (optimizer.kind != OptimizerKind::sgd)
    return {"exp_avg", "exp_avg_sq"};
  if (optimizer.state_slots() == 0)
    return {};
  return {"momentum"};
}

std::size_t snapshot_elements(const FlatPlan& plan, const Strategy& strategy, int rank,
                              bool saves_shard, std::size_t statistics, std::size_t slots) {
  return saved_part(plan, strategy, rank, saves_shard).elements() * (1 + slots) + statistics;
}

StateLayout::StateLayout(const StorageLayout& storage, const StateOptions& options)
    : storage_{storage}, strategy_{options.strategy}, rank_{options.rank}, plan_{plan_of(storage_,
                                                                                         options)},
      slots_{all_slots(options)}, inner_slots_{options.optimizer_slots.size()},
      stored_{options.stored}, kept_{strategy_.kept(part_elements())}, rates_{storage_, plan_,
                                                                              options.rates},
      gaps_{flat_gaps(storage_, plan_)}, whole_{storage_, plan_, slots_, StatePart::whole(plan_)} {
  if (options.saves_shard)
    own_.emplace(storage_, plan_, slots_, saved_part(plan_, strategy_, rank_, true));
}

bool StateLayout::is_divided(std::size_t array) const {
  return array == parameters_array ? strategy_.divides_parameters
                                   : array != statistics_array && strategy_.divides_optimizer;
}

FlatRange StateLayout::place_of(const Slot& slot) const {
  return {plan_.unit_offsets[static_cast<std::size_t>(slot.unit)] + slot.offset, slot.elements};
}

FlatRange StateLayout::place_of(const StateRange& range) const {
  const auto begin =
      range.array == statistics_array ? range.slot->offset : place_of(*range.slot).first;
  return {begin + range.first, range.elements};
}

FlatRange StateLayout::part(const Bucket& bucket, std::size_t shard) const {
  if (!strategy_.divides_optimizer)
    return {bucket.offset, bucket.elements};
  const auto elements = plan_.shard_elements(bucket);
  return {bucket.offset + shard * elements, elements};
}

std::size_t StateLayout::offset(const Bucket& bucket) const {
  return strategy_.divides_optimizer ? plan_.shard_offset(bucket) : bucket.offset;
}

std::size_t StateLayout::kept(const Bucket& bucket) const {
  const auto first = offset(bucket);
  return std::clamp(kept_, first, first + part(bucket).elements) - first;
}

std::vector<FlatRange> StateLayout::foreign_gaps(const Bucket& bucket) const {
  if (!strategy_.divides_gradients)
    return {};
  return gaps_within(gaps_, part(bucket));
}

bool StateLayout::is_frozen(UnitId unit) const {
  const auto index = static_cast<std::size_t>(unit);
  return rates_.is_frozen(plan_.unit_offsets[index], storage_.unit_elements[index]);
}

std::vector<bool> StateLayout::frozen_buckets() const {
  std::vector<bool> frozen;
  for (const auto& bucket : plan_.buckets)
    frozen.push_back(is_frozen(bucket));
  return frozen;
}

StatePlan StateLayout::plan_shard(std::size_t shard) const {
  return {storage_, plan_, slots_, StatePart::of_shard(plan_, shard)};
}

CheckpointHeader StateLayout::describe(const std::optional<LossScaleState>& loss_scale) const {
  CheckpointHeader header{.metadata = {}, .tensors = whole_.entries(whole_.size())};
  if (loss_scale)
    header.metadata[loss_scale_key] = to_string(*loss_scale);
  return header;
}

} // namespace troupe::training
