#include "saved_state.hpp"

#include <algorithm>

namespace troupe::engine {

namespace {

/// Puts ranges together as long as they belong together.
class Pieces {
public:
  Pieces(const collectives::FlatPlan& plan, std::size_t largest) : plan_{plan}, largest_{largest} {}

  void add(std::size_t array, const Slot& slot) {
    if (slot.codec)
      return add(SavedRange{array, &slot, 0, slot.elements});
    for (std::size_t first = 0; first < slot.elements; first += largest_)
      add(SavedRange{array, &slot, first, std::min(largest_, slot.elements - first)});
  }

  std::vector<SavedPiece> take() { return std::move(pieces_); }

private:
  std::size_t bucket_of(const Slot& slot) const {
    return plan_.bucket_of[static_cast<std::size_t>(slot.unit)];
  }
  bool belongs(const SavedRange& range) const {
    if (pieces_.empty() || pieces_.back().array() != range.array ||
        pieces_.back().elements + range.elements > largest_)
      return false;
    return range.array == statistics_array ||
           bucket_of(*pieces_.back().ranges.front().slot) == bucket_of(*range.slot);
  }
  void add(const SavedRange& range) {
    if (!belongs(range))
      pieces_.emplace_back();
    pieces_.back().ranges.push_back(range);
    pieces_.back().elements += range.elements;
  }

  const collectives::FlatPlan& plan_;
  std::size_t largest_;
  std::vector<SavedPiece> pieces_;
};

} // namespace

std::vector<SavedPiece> plan_saved(const StorageLayout& layout, const collectives::FlatPlan& plan,
                                   std::size_t slots, std::size_t largest) {
  std::vector<const Slot*> by_name;
  for (const auto& slot : layout.parameters)
    by_name.push_back(&slot);
  std::ranges::sort(by_name, {}, &Slot::name);
  Pieces pieces{plan, largest};
  for (const auto* slot : by_name)
    pieces.add(parameters_array, *slot);
  for (const auto& slot : layout.statistics)
    pieces.add(statistics_array, slot);
  for (std::size_t i = 0; i < slots; ++i)
    for (const auto* slot : by_name)
      pieces.add(first_optimizer_array + i, *slot);
  return pieces.take();
}

std::size_t count_parameter_pieces(std::span<const SavedPiece> pieces) {
  return static_cast<std::size_t>(std::ranges::count(pieces, parameters_array, &SavedPiece::array));
}

std::vector<CheckpointEntry> saved_entries(std::span<const SavedPiece> pieces,
                                           std::span<const std::string> slots) {
  std::vector<CheckpointEntry> entries;
  for (const auto& piece : pieces)
    for (const auto& range : piece.ranges)
      if (range.first == 0)
        entries.push_back({range.array < first_optimizer_array
                               ? range.slot->name
                               : optimizer_tensor_name(slots[range.array - first_optimizer_array],
                                                       range.slot->name),
                           range.slot->shape});
  return entries;
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

} // namespace troupe::engine
