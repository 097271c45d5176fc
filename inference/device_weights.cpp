#include "inference/device_weights.hpp"

#include "core/fail.hpp"

#include <algorithm>
#include <iterator>
#include <ranges>

namespace troupe::inference {

namespace {

/// Fills flat buffers, whose padding stays zero.
class Loader {
public:
  Loader(Device& device, Stream& stream, const ModelWeights& weights, DType stored)
      : device_{device}, stream_{stream}, weights_{weights}, stored_{stored} {}

  template <class Slots>
  Result<BufferPtr> load(std::size_t elements, Slots&& slots) {
    const auto floats = std::max<std::size_t>(elements, 1);
    TROUPE_TRY(auto buffer, device_.allocate(floats * sizeof(float), MemoryKind::parameters));
    device_.zero(stream_, buffer->data(), buffer->bytes());
    for (const auto& slot : slots)
      TROUPE_TRY(load(slot, buffer->floats() + slot.offset));
    device_.round(stream_, buffer->floats(), stored_, floats);
    TROUPE_TRY(stream_.synchronize());
    return buffer;
  }

private:
  /// Synchronizes, because the values are freed on return.
  Status load(const Slot& slot, float* to) {
    TROUPE_TRY(auto values, weights_.read(slot.name));
    if (slot.codec) {
      std::vector<float> encoded(slot.elements);
      slot.codec->encode(values, encoded);
      values = std::move(encoded);
    }
    device_.copy(stream_, to, values.data(), values.size() * sizeof(float));
    return stream_.synchronize();
  }

  Device& device_;
  Stream& stream_;
  const ModelWeights& weights_;
  DType stored_;
};

} // namespace

Result<DeviceWeights> DeviceWeights::load(Device& device, Stream& stream,
                                          const StorageLayout& layout, const ModelWeights& weights,
                                          DType stored) {
  Loader loader{device, stream, weights, stored};
  DeviceWeights loaded;
  for (UnitId unit = 0; unit < std::ssize(layout.unit_elements); ++unit) {
    const auto of_unit = [unit](const Slot& slot) { return slot.unit == unit; };
    TROUPE_TRY(auto parameters, loader.load(layout.unit_elements[static_cast<std::size_t>(unit)],
                                            layout.parameters | std::views::filter(of_unit)));
    loaded.parameters_.push_back(std::move(parameters));
  }
  const auto is_there = [&](const Slot& slot) { return weights.has(slot.name); };
  TROUPE_TRY(loaded.statistics_, loader.load(layout.statistic_elements,
                                             layout.statistics | std::views::filter(is_there)));
  return loaded;
}

Status DeviceWeights::bind(Executable& executable, Stream& stream) const {
  for (UnitId unit = 0; unit < units(); ++unit)
    executable.bind(unit, parameters_[static_cast<std::size_t>(unit)]->floats(), nullptr);
  executable.bind_statistics(statistics_->floats());
  executable.refresh_all(stream);
  return stream.synchronize();
}

} // namespace troupe::inference
