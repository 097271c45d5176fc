// Loading: converts saved states from canonical layout to the device's layout.
#include "core/fail.hpp"
#include "training/state/model_state.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace troupe::training {

namespace {

/// Elements read at a time of a tensor that the device stores in canonical layout.
constexpr std::size_t most_read = std::size_t{4} << 20;

/// Refuses a state with a bias that the model lacks: weights trained with a bias are useless
/// without it.
Status check_no_bias_is_lost(const StateSource& source, const StorageLayout& layout) {
  constexpr std::string_view weight = ".weight", bias = ".bias";
  for (const auto& slot : layout.parameters) {
    if (!slot.name.ends_with(weight))
      continue;
    const auto beside = slot.name.substr(0, slot.name.size() - weight.size()).append(bias);
    if (source.find(beside) && std::ranges::count(layout.parameters, beside, &Slot::name) == 0)
      return fail(
          Errc::invalid_input,
          "the checkpoint has a tensor {}, which the model lacks: it belongs to another model",
          beside);
  }
  return {};
}

} // namespace

namespace {

/// Returns nothing for optimizer state that does not exist yet: the run is new or, with `may_lack`,
/// it was trained with other settings before.
Result<std::optional<std::size_t>> tensor_of(const StateSource& source, const Slot& slot,
                                             std::string_view state, bool may_lack = false) {
  const auto name = state.empty() ? slot.name : optimizer_tensor_name(state, slot.name);
  const auto number = source.find(name);
  if (!number && !state.empty() && (may_lack || source.header().step == 0))
    return std::nullopt;
  if (!number)
    return fail(Errc::invalid_input,
                "the checkpoint has no tensor {}: it belongs to another model or optimizer", name);
  if (const auto& shape = source.header().tensors[*number].shape; shape != slot.shape)
    return fail(Errc::invalid_input,
                "tensor {} has the shape {} in the checkpoint, but {} in the model", name,
                shape.to_string(), slot.shape.to_string());
  return number;
}

template <class Take>
Status encode_whole(const StateSource& source, std::size_t tensor, const Slot& slot,
                    std::size_t first, std::size_t end, const Take& take) {
  std::vector<float> canonical(static_cast<std::size_t>(slot.shape.elements()));
  TROUPE_TRY(source.read(tensor, 0, canonical));
  std::vector<float> values(slot.elements);
  slot.codec->encode(canonical, values);
  return take(first, std::span{std::as_const(values)}.subspan(first, end - first));
}

/// Passes elements [first, end) of a tensor to `take` in the device's layout, chunk by chunk.
template <class Take>
Status read_stored(const StateSource& source, std::size_t tensor, const Slot& slot,
                   std::size_t first, std::size_t end, const Take& take) {
  const auto layout = slot.codec ? std::optional{slot.codec->layout()} : std::nullopt;
  std::vector<float> values;
  for (; first < end; first += values.size()) {
    values.resize(std::min(most_read, end - first));
    if (layout) {
      TROUPE_TRY(const bool lies_so, source.read_stored(tensor, *layout, first, values));
      if (!lies_so)
        return encode_whole(source, tensor, slot, first, end, take);
    } else {
      TROUPE_TRY(source.read(tensor, first, values));
    }
    TROUPE_TRY(take(first, std::span{std::as_const(values)}));
  }
  return {};
}

} // namespace

Status ModelState::load(Stream& stream, const StateSource& source) {
  TROUPE_TRY(check_no_bias_is_lost(source, layout_));
  TROUPE_TRY(load_parameters(stream, source));
  TROUPE_TRY(load_statistics(stream, source));
  for (std::size_t i = 0; i < optimizer_.size(); ++i)
    TROUPE_TRY(load_array(stream, source, optimizer_slots_[i],
                          {.divided = strategy_.divides_optimizer,
                           .shard = shard_,
                           .device = &optimizer_[i],
                           .kept = host_ ? kept_ : SIZE_MAX,
                           .host = host_ ? host_->state(i) : nullptr,
                           .may_lack = i >= inner_slots_}));
  if (shard_replica_)
    TROUPE_TRY(load_replica(stream, source));
  TROUPE_TRY(load_loss_scale(stream, source.header()));
  device_.zero(stream, gradients_->data(), gradients_->bytes());
  constexpr float one = 1;
  device_.copy(stream, votes() + 1, &one, sizeof one);
  for (auto* const counted : {steps(), prepared_steps()})
    device_.copy(stream, counted, &source.header().step, sizeof(std::int64_t));
  keep_base(stream);
  return stream.synchronize();
}

Status ModelState::load_parameters(Stream& stream, const StateSource& source) {
  const bool all_on_device = !host_ || !strategy_.offloads_parameters;
  TROUPE_TRY(load_array(stream, source, "",
                        {.divided = strategy_.divides_parameters,
                         .shard = shard_,
                         .device = &parameters_,
                         .kept = all_on_device ? SIZE_MAX : kept_,
                         .host = all_on_device ? nullptr : host_->parameters()}));
  if (!host_ || !all_on_device)
    return {};
  // The host updates a separate copy.
  return load_array(stream, source, "",
                    {.divided = strategy_.divides_optimizer,
                     .shard = shard_,
                     .kept = kept_,
                     .host = host_->parameters(),
                     .host_alone = true});
}

/// Loads this rank's part of an array: of the parameters ("") or of an optimizer slot.
Status ModelState::load_array(Stream& stream, const StateSource& source, std::string_view state,
                              const Destination& to) const {
  if (to.device && *to.device) // padding stays zero
    device_.zero(stream, (*to.device)->data(), (*to.device)->bytes());
  for (const auto& slot : layout_.parameters) {
    TROUPE_TRY(const auto tensor, tensor_of(source, slot, state, to.may_lack));
    const auto& bucket = plan_.buckets[bucket_of(slot)];
    const auto begin = place_of(slot), shard = plan_.shard_elements(bucket);
    const auto mine = to.divided ? bucket.offset + to.shard * shard : bucket.offset;
    const auto first = std::max(begin, mine);
    const auto end = std::min(begin + slot.elements, mine + (to.divided ? shard : bucket.elements));
    if (!tensor || first >= end)
      continue;
    const auto moved = to.divided ? mine - plan_.shard_offset(bucket) : 0;
    TROUPE_TRY(read_stored(source, *tensor, slot, first - begin, end - begin,
                           [&](std::size_t at, std::span<const float> values) {
                             put(stream, values, begin + at - moved, to);
                             return stream.synchronize();
                           }));
  }
  return stream.synchronize();
}

void ModelState::put(Stream& stream, std::span<const float> values, std::size_t place,
                     const Destination& to) const {
  const auto copy = [&](float* destination, std::span<const float> some) {
    if (some.empty())
      return;
    device_.copy(stream, destination, some.data(), some.size_bytes());
    device_.round(stream, destination, stored_, some.size());
  };
  const auto cut = std::clamp(to.kept, place, place + values.size());
  if (!to.host_alone && cut > place)
    copy((*to.device)->floats() + place, values.first(cut - place));
  if (cut < place + values.size())
    copy(to.host + (cut - to.kept), values.subspan(cut - place));
}

Status ModelState::load_loss_scale(Stream& stream, const CheckpointHeader& header) {
  if (!scaler_)
    return {};
  // A checkpoint of another precision has no loss scale: scaling starts here.
  LossScaleState state{.scale = loss_scale_options_->initial, .taken = header.step};
  if (const auto saved = header.metadata.find(loss_scale_key); saved != header.metadata.end()) {
    const auto parsed = parse_loss_scale(saved->second);
    if (!parsed)
      return fail(Errc::corrupt, "the checkpoint of step {} has an invalid loss scale: \"{}\"",
                  header.step, saved->second);
    state = *parsed;
  }
  device_.copy(stream, loss_scale(), &state, sizeof state);
  return stream.synchronize();
}

Status ModelState::load_statistics(Stream& stream, const StateSource& source) {
  for (const auto& slot : layout_.statistics) {
    TROUPE_TRY(const auto tensor, tensor_of(source, slot, ""));
    TROUPE_TRY(read_stored(source, *tensor, slot, 0, slot.elements,
                           [&](std::size_t at, std::span<const float> values) {
                             float* const to = statistics() + slot.offset + at;
                             device_.copy(stream, to, values.data(), values.size_bytes());
                             device_.round(stream, to, stored_, values.size());
                             return stream.synchronize();
                           }));
  }
  if (commits_statistics()) // any step may be first, and the step before it was loaded
    for (std::int64_t turn = 0; turn < committed_turns(strategy_); ++turn)
      commit_statistics(stream, turn);
  return {};
}

} // namespace troupe::training
