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

template <class Take>
Status encode_whole(const StateSource& source, std::size_t tensor, const Slot& slot,
                    const FlatRange& range, const Take& take) {
  std::vector<float> canonical(static_cast<std::size_t>(slot.shape.elements()));
  TROUPE_TRY(source.read(tensor, 0, canonical));
  std::vector<float> values(slot.elements);
  slot.codec->encode(canonical, values);
  return take(range.first, std::span{std::as_const(values)}.subspan(range.first, range.elements));
}

/// Passes a range of a tensor to `take` in the device's layout, chunk by chunk.
template <class Take>
Status read_stored(const StateSource& source, std::size_t tensor, const Slot& slot,
                   const FlatRange& range, const Take& take) {
  const auto layout = slot.codec ? std::optional{slot.codec->layout()} : std::nullopt;
  std::vector<float> values;
  for (auto first = range.first; first < range.end(); first += values.size()) {
    values.resize(std::min(most_read, range.end() - first));
    if (layout) {
      TROUPE_TRY(const bool lies_so, source.read_stored(tensor, *layout, first, values));
      if (!lies_so)
        return encode_whole(source, tensor, slot, {first, range.end() - first}, take);
    } else {
      TROUPE_TRY(source.read(tensor, first, values));
    }
    TROUPE_TRY(take(first, std::span{std::as_const(values)}));
  }
  return {};
}

/// Loads arrays of a state into a rank's memory.
class StateLoader {
public:
  StateLoader(Device& device, Stream& stream, const StateLayout& layout, const StateSource& source)
      : device_{device}, stream_{stream}, layout_{layout}, source_{source} {}

  /// `memory_of`: the array's memory by the bucket's number.
  template <class MemoryOf>
  Status load(std::size_t array, const MemoryOf& memory_of) const {
    for (std::size_t bucket = 0; bucket < layout_.plan().buckets.size(); ++bucket)
      if (const auto memory = memory_of(bucket); memory.kept > 0) // padding stays zero
        device_.zero(stream_, memory.device, memory.kept * sizeof(float));
    for (const auto& slot : layout_.storage().parameters)
      TROUPE_TRY(load(array, slot, layout_.place_of(slot),
                      memory_of(layout_.plan().bucket_of[static_cast<std::size_t>(slot.unit)])));
    return stream_.synchronize();
  }

  Status load(const Statistics& statistics) const {
    for (const auto& slot : layout_.storage().statistics)
      TROUPE_TRY(load(statistics_array, slot, {slot.offset, slot.elements}, statistics.memory()));
    return {};
  }

private:
  /// Loads the part of a slot at `place` that `memory` contains.
  Status load(std::size_t array, const Slot& slot, const FlatRange& place,
              const BucketMemory& memory) const {
    TROUPE_TRY(const auto tensor, tensor_of(array, slot));
    const auto range = place.overlap(memory.range);
    if (!tensor || range.elements == 0)
      return {};
    return read_stored(source_, *tensor, slot, {range.first - place.first, range.elements},
                       [&](std::size_t first, std::span<const float> values) {
                         put(values, memory.at({place.first + first, values.size()}));
                         return stream_.synchronize();
                       });
  }

  void put(std::span<const float> values, const std::array<std::span<float>, 2>& to) const {
    for (const auto& some : to) {
      if (some.empty())
        continue;
      device_.copy(stream_, some.data(), values.data(), some.size_bytes());
      device_.round(stream_, some.data(), layout_.stored(), some.size());
      values = values.subspan(some.size());
    }
  }

  /// Returns nothing for optimizer state that does not exist yet: the run is new or, for the outer
  /// optimizer's, it was trained with other settings before.
  Result<std::optional<std::size_t>> tensor_of(std::size_t array, const Slot& slot) const {
    const bool is_optimizer = array >= first_optimizer_array;
    const auto name =
        is_optimizer
            ? optimizer_tensor_name(layout_.slots()[array - first_optimizer_array], slot.name)
            : slot.name;
    const auto number = source_.find(name);
    const bool may_lack = array >= first_optimizer_array + layout_.inner_slots();
    if (!number && is_optimizer && (may_lack || source_.header().step == 0))
      return std::nullopt;
    if (!number)
      return fail(Errc::invalid_input,
                  "the checkpoint has no tensor {}: it belongs to another model or optimizer",
                  name);
    if (const auto& shape = source_.header().tensors[*number].shape; shape != slot.shape)
      return fail(Errc::invalid_input,
                  "tensor {} has the shape {} in the checkpoint, but {} in the model", name,
                  shape.to_string(), slot.shape.to_string());
    return number;
  }

  Device& device_;
  Stream& stream_;
  const StateLayout& layout_;
  const StateSource& source_;
};

} // namespace

Status ModelState::load(Stream& stream, const StateSource& source) {
  TROUPE_TRY(check_no_bias_is_lost(source, layout_.storage()));
  const StateLoader loader{device_, stream, layout_, source};
  const auto load_own = [&](std::size_t array) {
    return loader.load(array, [&](std::size_t bucket) { return buffers_.array(array, bucket); });
  };
  const auto load_replica = [&](std::size_t array) {
    return loader.load(array,
                       [&](std::size_t bucket) { return shard_replica_->memory(array, bucket); });
  };
  TROUPE_TRY(load_own(parameters_array));
  if (buffers_.part().host() && !layout_.strategy().offloads_parameters) // updates a separate copy
    TROUPE_TRY(loader.load(parameters_array, [&](std::size_t bucket) {
      return buffers_.part().memory(parameters_array, bucket).on_host();
    }));
  TROUPE_TRY(loader.load(statistics_));
  statistics_.commit_all(stream); // any step may be first, and the step before it was loaded
  for (std::size_t slot = 0; slot < buffers_.part().slots(); ++slot)
    TROUPE_TRY(load_own(first_optimizer_array + slot));
  if (shard_replica_)
    TROUPE_TRY(load_replica(parameters_array));
  for (std::size_t slot = 0; shard_replica_ && slot < buffers_.part().slots(); ++slot)
    TROUPE_TRY(load_replica(first_optimizer_array + slot));
  TROUPE_TRY(load_loss_scale(stream, source.header()));
  const auto gradients = buffers_.owned_gradients();
  device_.zero(stream, gradients.data(), gradients.size_bytes());
  constexpr float yes = 1;
  device_.copy(stream, &scratch()->yes, &yes, sizeof yes);
  for (auto* const counted : {&scratch()->steps, &scratch()->prepared_steps})
    device_.copy(stream, counted, &source.header().step, sizeof(std::int64_t));
  keep_base(stream);
  return stream.synchronize();
}

Status ModelState::load_loss_scale(Stream& stream, const CheckpointHeader& header) const {
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

} // namespace troupe::training
