#include "training/state/detail/saved_state.hpp"

#include <algorithm>

namespace troupe::training {

namespace {

/// Collects ranges into chunks: joins ranges of the same array and bucket up to `largest`.
class Pieces {
public:
  Pieces(const collectives::FlatPlan& plan, const SavedShard& part, std::size_t largest)
      : plan_{plan}, part_{part}, largest_{largest} {}

  void add_statistic(const Slot& slot) { add(statistics_array, slot, 0, slot.elements); }

  void add(std::size_t array, const Slot& slot) {
    const auto begin = plan_.unit_offsets[static_cast<std::size_t>(slot.unit)] + slot.offset;
    const auto& cut = part_[bucket_of(slot)];
    const auto first = std::max(begin, cut.begin), end = std::min(begin + slot.elements, cut.end());
    if (first < end)
      add(array, slot, first - begin, end - begin);
  }

  std::vector<SavedChunk> take() { return std::move(chunks_); }

private:
  std::size_t bucket_of(const Slot& slot) const {
    return plan_.bucket_of[static_cast<std::size_t>(slot.unit)];
  }
  void add(std::size_t array, const Slot& slot, std::size_t first, std::size_t end) {
    if (slot.codec && part_.is_whole()) // decoded as a whole
      return add(SavedRange{array, &slot, first, end - first});
    for (; first < end; first += largest_)
      add(SavedRange{array, &slot, first, std::min(largest_, end - first)});
  }
  bool belongs(const SavedRange& range) const {
    if (chunks_.empty() || chunks_.back().array() != range.array ||
        chunks_.back().elements + range.elements > largest_)
      return false;
    return range.array == statistics_array ||
           bucket_of(*chunks_.back().ranges.front().slot) == bucket_of(*range.slot);
  }
  void add(const SavedRange& range) {
    if (!belongs(range))
      chunks_.emplace_back();
    chunks_.back().ranges.push_back(range);
    chunks_.back().elements += range.elements;
  }

  const collectives::FlatPlan& plan_;
  const SavedShard& part_;
  std::size_t largest_;
  std::vector<SavedChunk> chunks_;
};

std::string name_of(const SavedRange& range, std::span<const std::string> slots) {
  return range.array < first_optimizer_array
             ? range.slot->name
             : optimizer_tensor_name(slots[range.array - first_optimizer_array], range.slot->name);
}

} // namespace

std::vector<SavedChunk> plan_saved_shard(const StorageLayout& layout,
                                         const collectives::FlatPlan& plan, std::size_t slots,
                                         const SavedShard& part, bool statistics,
                                         std::size_t largest) {
  std::vector<const Slot*> by_name;
  for (const auto& slot : layout.parameters)
    by_name.push_back(&slot);
  std::ranges::sort(by_name, {}, &Slot::name);
  Pieces chunks{plan, part, largest};
  for (const auto* slot : by_name)
    chunks.add(parameters_array, *slot);
  if (statistics)
    for (const auto& slot : layout.statistics)
      chunks.add_statistic(slot);
  for (std::size_t i = 0; i < slots; ++i)
    for (const auto* slot : by_name)
      chunks.add(first_optimizer_array + i, *slot);
  return chunks.take();
}

std::vector<SavedChunk> plan_saved(const StorageLayout& layout, const collectives::FlatPlan& plan,
                                   std::size_t slots, std::size_t largest) {
  return plan_saved_shard(layout, plan, slots, SavedShard::whole(plan), true, largest);
}

std::size_t count_parameter_chunks(std::span<const SavedChunk> chunks) {
  return static_cast<std::size_t>(std::ranges::count(chunks, parameters_array, &SavedChunk::array));
}

std::vector<CheckpointEntry> saved_entries(std::span<const SavedChunk> chunks,
                                           std::span<const std::string> slots) {
  std::vector<CheckpointEntry> entries;
  for (const auto& chunk : chunks)
    for (const auto& range : chunk.ranges)
      if (range.first == 0)
        entries.push_back({name_of(range, slots), range.slot->shape});
  return entries;
}

std::vector<TensorPart> saved_shards(std::span<const SavedChunk> chunks,
                                     std::span<const std::string> slots) {
  std::vector<TensorPart> parts;
  for (const auto& chunk : chunks)
    for (const auto& range : chunk.ranges) {
      const auto& slot = *range.slot;
      auto name = name_of(range, slots);
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

std::span<const float> in_canonical_layout(const SavedRange& range, const float* stored,
                                           std::vector<float>& scratch) {
  const std::span values{stored, range.elements};
  const auto& codec = range.slot->codec;
  if (!codec)
    return values;
  scratch.resize(range.values());
  codec->decode(values, scratch);
  return scratch;
}

} // namespace troupe::training
