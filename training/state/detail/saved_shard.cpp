#include "training/state/detail/saved_shard.hpp"

#include <algorithm>

namespace troupe::training {

namespace {

using collectives::shard_alignment;

SavedShard::Cut cut_of(const collectives::FlatPlan& plan, const collectives::Strategy& strategy,
                       int rank, const collectives::Bucket& bucket) {
  if (strategy.root_only)
    return {bucket.offset, rank == 0 ? bucket.elements : 0};
  const auto shard = plan.shard_elements(bucket);
  const auto rank_states = static_cast<std::size_t>(strategy.copies());
  const auto rank_state = static_cast<std::size_t>(rank / strategy.shards);
  const auto share = (shard / rank_states + shard_alignment) / shard_alignment * shard_alignment;
  const auto first = std::min(rank_state * share, shard);
  const auto shard_begin =
      bucket.offset + static_cast<std::size_t>(strategy.shard_of(rank)) * shard;
  return {shard_begin + first, std::min(share, shard - first)};
}

} // namespace

SavedShard SavedShard::whole(const collectives::FlatPlan& plan) {
  SavedShard part;
  part.is_whole_ = true;
  part.elements_ = plan.elements;
  for (const auto& bucket : plan.buckets)
    part.cuts_.push_back({bucket.offset, bucket.elements, bucket.offset});
  return part;
}

SavedShard SavedShard::of_shard(const collectives::FlatPlan& plan, std::size_t shard) {
  SavedShard part;
  for (const auto& bucket : plan.buckets) {
    const auto elements = plan.shard_elements(bucket);
    part.add({bucket.offset + shard * elements, elements});
  }
  return part;
}

SavedShard SavedShard::of_rank(const collectives::FlatPlan& plan,
                               const collectives::Strategy& strategy, int rank) {
  SavedShard part;
  for (const auto& bucket : plan.buckets)
    part.add(cut_of(plan, strategy, rank, bucket));
  return part;
}

void SavedShard::add(Cut cut) {
  cut.place = elements_;
  elements_ += cut.elements;
  cuts_.push_back(cut);
}

} // namespace troupe::training
