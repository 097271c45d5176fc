#include "training/state/rate_ranges.hpp"

#include <algorithm>
#include <limits>

namespace troupe::training {

namespace {

template <class T>
T* moved(T* values, std::size_t elements) {
  return values ? values + elements : nullptr;
}

OptimizerViews part_of(const OptimizerViews& views, std::size_t first, std::size_t elements) {
  auto part = views;
  part.parameters = moved(views.parameters, first);
  part.gradients = moved(views.gradients, first);
  part.state0 = moved(views.state0, first);
  part.state1 = moved(views.state1, first);
  part.copies = moved(views.copies, first * size_of(views.copied));
  part.elements = elements;
  return part;
}

} // namespace

OptimizerArguments at_rate(OptimizerArguments arguments, const nn::ParameterRate& rate) {
  arguments.lr = static_cast<float>(double{arguments.lr} * rate.factor);
  if (!rate.decays)
    arguments.weight_decay = 0;
  return arguments;
}

void optimizer_step(Device& device, Stream& stream, const std::vector<OptimizerChunk>& chunks,
                    const OptimizerArguments& arguments, const OptimizerScalars& scalars) {
  for (const auto& chunk : chunks)
    device.optimizer_step(stream, at_rate(arguments, chunk.rate), chunk, scalars.clip_factor,
                          scalars.loss_scale);
}

RateRanges::RateRanges(const StorageLayout& layout, const FlatPlan& plan,
                       std::span<const nn::ParameterRate> rates) {
  ranges_.push_back({.rate = rates.empty() ? nn::ParameterRate{} : rates.front()});
  for (std::size_t i = 0; i < rates.size(); ++i) {
    const auto& slot = layout.parameters[i];
    if (rates[i] == ranges_.back().rate)
      continue;
    // Padding belongs to the parameter before it.
    const auto first = plan.unit_offsets[static_cast<std::size_t>(slot.unit)] + slot.offset;
    ranges_.back().end = first;
    ranges_.push_back({.first = first, .rate = rates[i]});
  }
  ranges_.back().end = std::numeric_limits<std::size_t>::max();
}

std::vector<OptimizerChunk> RateRanges::cut(const OptimizerViews& views, std::size_t first) const {
  std::vector<OptimizerChunk> chunks;
  const auto end = first + views.elements;
  for (auto range = ranges_.rbegin(); range != ranges_.rend(); ++range) {
    const auto from = std::max(first, range->first), to = std::min(end, range->end);
    if (range->rate.factor != 0 && from < to)
      chunks.push_back({part_of(views, from - first, to - from), range->rate});
  }
  return chunks;
}

bool RateRanges::is_frozen(std::size_t first, std::size_t elements) const {
  return cut({.parameters = nullptr, .gradients = nullptr, .elements = elements}, first).empty();
}

} // namespace troupe::training
