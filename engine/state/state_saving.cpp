// What a rank saves of its state: copies in host memory, in the device's layout.
#include "model_state.hpp"

#include <algorithm>

namespace troupe::engine {

std::size_t ModelState::snapshot_elements(std::size_t parameters, std::size_t statistics,
                                          std::size_t slots) {
  return parameters * (1 + slots) + statistics;
}

float* ModelState::snapshot(std::size_t array) const {
  float* const begin = snapshot_->floats();
  if (array == statistics_array)
    return begin + plan_.elements * (1 + optimizer_slots_.size());
  return begin + plan_.elements * (array == parameters_array ? 0 : array - statistics_array);
}

bool ModelState::is_divided(std::size_t array) const {
  return array == parameters_array ? strategy_.divides_parameters
                                   : array != statistics_array && strategy_.divides_optimizer;
}

std::size_t ModelState::place_of(const SavedRange& range) const {
  return range.first +
         (range.array == statistics_array ? range.slot->offset : place_of(*range.slot));
}

void ModelState::copy_range(Stream& stream, const SavedRange& range, float* to) const {
  const auto place = place_of(range);
  if (range.array >= first_optimizer_array)
    return copy_optimizer(stream, range.array - first_optimizer_array, place, range.elements, to);
  const float* const from = range.array == statistics_array ? statistics() : parameters_->floats();
  device_.copy(stream, to, from + place, range.elements * sizeof(float));
}

/// Elements from kept_ on lie in the host's memory.
void ModelState::copy_optimizer(Stream& stream, std::size_t slot, std::size_t first,
                                std::size_t elements, float* to) const {
  const auto end = first + elements, cut = std::clamp(kept_, first, end);
  if (cut > first)
    device_.copy(stream, to, optimizer_[slot]->floats() + first, (cut - first) * sizeof(float));
  if (cut < end)
    device_.copy(stream, to + (cut - first), host_->state(slot) + (cut - kept_),
                 (end - cut) * sizeof(float));
}

void ModelState::copy_loss_scale(Stream& stream, std::optional<LossScaleState>& to) const {
  if (scaler_)
    device_.copy(stream, &to.emplace(), loss_scale(), sizeof(LossScaleState));
}

void ModelState::copy_array(Stream& stream, std::size_t array) const {
  float* const to = snapshot(array);
  if (array >= first_optimizer_array)
    copy_optimizer(stream, array - first_optimizer_array, 0, plan_.elements, to);
  else if (array == statistics_array)
    device_.copy(stream, to, statistics(), layout_.statistic_elements * sizeof(float));
  else
    device_.copy(stream, to, parameters_->floats(), plan_.elements * sizeof(float));
}

CheckpointHeader ModelState::describe(const std::optional<LossScaleState>& loss_scale) const {
  CheckpointHeader header{.metadata = {}, .tensors = saved_entries(saved_, optimizer_slots_)};
  if (loss_scale)
    header.metadata[loss_scale_key] = to_string(*loss_scale);
  return header;
}

} // namespace troupe::engine
