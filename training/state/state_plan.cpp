#include "training/state/state_plan.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

namespace troupe::training {

namespace {

/// Collects ranges into chunks: joins ranges of the same array and bucket up to `largest`.
class ChunkBuilder {
public:
  ChunkBuilder(const FlatPlan& plan, const StatePart& part, std::size_t largest)
      : plan_{plan}, part_{part}, largest_{largest} {}

  void add_statistic(const Slot& slot) { add(statistics_array, 0, slot, {0, slot.elements}); }

  void add(std::size_t array, const Slot& slot) {
    const auto unit = static_cast<std::size_t>(slot.unit);
    const auto bucket = plan_.bucket_of[unit];
    const FlatRange whole{plan_.unit_offsets[unit] + slot.offset, slot.elements};
    if (const auto range = whole.overlap(part_.ranges[bucket]); range.elements > 0)
      add(array, bucket, slot, {range.first - whole.first, range.elements});
  }

  std::vector<PlannedChunk> take() { return std::move(chunks_); }

private:
  void add(std::size_t array, std::size_t bucket, const Slot& slot, const FlatRange& range) {
    if (slot.codec && part_.is_whole) // decoded as a whole
      return add(bucket, {array, &slot, range.first, range.elements});
    for (auto first = range.first; first < range.end(); first += largest_)
      add(bucket, {array, &slot, first, std::min(largest_, range.end() - first)});
  }
  void add(std::size_t bucket, const StateRange& range) {
    const bool joins = !chunks_.empty() && chunks_.back().array == range.array &&
                       chunks_.back().bucket == bucket &&
                       chunks_.back().elements + range.elements <= largest_;
    if (!joins)
      chunks_.push_back({.array = range.array, .bucket = bucket, .ranges = {}});
    chunks_.back().ranges.push_back(range);
    chunks_.back().elements += range.elements;
  }

  const FlatPlan& plan_;
  const StatePart& part_;
  std::size_t largest_;
  std::vector<PlannedChunk> chunks_;
};

FlatRange range_of_rank(const FlatPlan& plan, const Strategy& strategy, int rank,
                        const Bucket& bucket) {
  if (strategy.root_only)
    return {bucket.offset, rank == 0 ? bucket.elements : 0};
  const auto shard = plan.shard_elements(bucket);
  const auto copies = static_cast<std::size_t>(strategy.copies());
  const auto copy = static_cast<std::size_t>(rank / strategy.shards);
  const auto share = (shard / copies + shard_alignment) / shard_alignment * shard_alignment;
  const auto first = std::min(copy * share, shard);
  const auto begin = bucket.offset + static_cast<std::size_t>(strategy.shard_of(rank)) * shard;
  return {begin + first, std::min(share, shard - first)};
}

} // namespace

std::size_t StatePart::elements() const {
  return std::transform_reduce(ranges.begin(), ranges.end(), std::size_t{0}, std::plus{},
                               std::mem_fn(&FlatRange::elements));
}

StatePart StatePart::whole(const FlatPlan& plan) {
  StatePart part{.ranges = {}, .is_whole = true};
  for (const auto& bucket : plan.buckets)
    part.ranges.push_back({bucket.offset, bucket.elements});
  return part;
}

StatePart StatePart::of_shard(const FlatPlan& plan, std::size_t shard) {
  StatePart part{.ranges = {}, .statistics = false};
  for (const auto& bucket : plan.buckets) {
    const auto elements = plan.shard_elements(bucket);
    part.ranges.push_back({bucket.offset + shard * elements, elements});
  }
  return part;
}

StatePart StatePart::of_rank(const FlatPlan& plan, const Strategy& strategy, int rank) {
  StatePart part{.ranges = {}, .statistics = rank == 0};
  for (const auto& bucket : plan.buckets)
    part.ranges.push_back(range_of_rank(plan, strategy, rank, bucket));
  return part;
}

std::span<const float> in_canonical_layout(const StateRange& range, const float* stored,
                                           std::vector<float>& scratch) {
  const std::span values{stored, range.elements};
  if (!range.slot->codec)
    return values;
  scratch.resize(static_cast<std::size_t>(range.slot->shape.elements()));
  range.slot->codec->decode(values, scratch);
  return scratch;
}

StatePlan::StatePlan(const StorageLayout& layout, const FlatPlan& plan,
                     std::vector<std::string> slots, const StatePart& part, std::size_t largest)
    : slots_{std::move(slots)} {
  std::vector<const Slot*> by_name;
  for (const auto& slot : layout.parameters)
    by_name.push_back(&slot);
  std::ranges::sort(by_name, {}, &Slot::name);
  ChunkBuilder chunks{plan, part, largest};
  for (const auto* slot : by_name)
    chunks.add(parameters_array, *slot);
  if (part.statistics)
    for (const auto& slot : layout.statistics)
      chunks.add_statistic(slot);
  for (std::size_t i = 0; i < slots_.size(); ++i)
    for (const auto* slot : by_name)
      chunks.add(first_optimizer_array + i, *slot);
  chunks_ = chunks.take();
}

std::size_t StatePlan::elements() const {
  return std::transform_reduce(begin(), end(), std::size_t{0}, std::plus{},
                               std::mem_fn(&PlannedChunk::elements));
}

std::size_t StatePlan::parameter_chunks() const {
  return static_cast<std::size_t>(
      std::ranges::count(chunks_, parameters_array, &PlannedChunk::array));
}

std::vector<std::size_t> StatePlan::by_bucket() const {
  std::vector<std::size_t> order(chunks_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [this](std::size_t index) {
    return std::pair{chunks_[index].array, chunks_[index].bucket};
  });
  return order;
}

std::string StatePlan::name_of(const StateRange& range) const {
  return range.array < first_optimizer_array
             ? range.slot->name
             : optimizer_tensor_name(slots_[range.array - first_optimizer_array], range.slot->name);
}

std::vector<CheckpointEntry> StatePlan::entries(std::size_t chunks) const {
  std::vector<CheckpointEntry> entries;
  for (const auto& chunk : std::span{chunks_}.first(chunks))
    for (const auto& range : chunk.ranges)
      if (range.first == 0)
        entries.push_back({name_of(range), range.slot->shape});
  return entries;
}

std::vector<TensorPart> StatePlan::parts() const {
  std::vector<TensorPart> parts;
  for (const auto& chunk : chunks_)
    for (const auto& range : chunk.ranges) {
      const auto& slot = *range.slot;
      auto name = name_of(range);
      if (!parts.empty() && parts.back().name == name) {
        parts.back().elements += range.elements;
        continue;
      }
      parts.push_back({.name = std::move(name),
                       .shape = slot.shape,
                       .stored = slot.elements,
                       .first = range.first,
                       .elements = range.elements,
                       .layout = slot.codec ? std::optional{slot.codec->layout()} : std::nullopt});
    }
  return parts;
}

} // namespace troupe::training
