#include "core/checkpoint/state_source.hpp"

#include "core/fail.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace troupe {

namespace {

CheckpointHeader header_of(const Checkpoint& checkpoint) {
  CheckpointHeader header{.step = checkpoint.step,
                          .epoch = checkpoint.epoch,
                          .metadata = checkpoint.metadata,
                          .tensors = {}};
  for (const auto& tensor : checkpoint.tensors)
    header.tensors.push_back({tensor.name, tensor.shape});
  return header;
}

class StateInMemory final : public StateSource {
public:
  explicit StateInMemory(Checkpoint checkpoint)
      : StateSource{header_of(checkpoint)}, checkpoint_{std::move(checkpoint)} {}

  Status read(std::size_t tensor, std::size_t first, std::span<float> into) const override {
    std::ranges::copy(checkpoint_.tensors[tensor].values.subspan(first, into.size()), into.begin());
    return {};
  }

private:
  Checkpoint checkpoint_;
};

std::size_t elements_of(const CheckpointEntry& tensor) {
  return static_cast<std::size_t>(tensor.shape.elements());
}

} // namespace

StateSource::StateSource(CheckpointHeader header)
    : header_{std::move(header)}, by_name_(header_.tensors.size()) {
  std::iota(by_name_.begin(), by_name_.end(), 0U);
  std::ranges::sort(
      by_name_, {}, [this](auto i) -> auto& { return header_.tensors[i].name; });
}

std::optional<std::size_t> StateSource::find(std::string_view name) const {
  const auto name_of = [this](auto i) -> std::string_view { return header_.tensors[i].name; };
  const auto found = std::ranges::lower_bound(by_name_, name, {}, name_of);
  if (found == by_name_.end() || name_of(*found) != name)
    return std::nullopt;
  return *found;
}

Result<bool> StateSource::read_stored(std::size_t, const BlockedLayout&, std::size_t,
                                      std::span<float>) const {
  return false;
}

StateSourcePtr state_in_memory(Checkpoint checkpoint) {
  return std::make_shared<const StateInMemory>(std::move(checkpoint));
}

Result<Checkpoint> read_whole(const StateSource& source) {
  const auto& header = source.header();
  Checkpoint checkpoint{
      .step = header.step, .epoch = header.epoch, .metadata = header.metadata, .tensors = {}};
  std::size_t elements = 0;
  for (const auto& tensor : header.tensors)
    elements += elements_of(tensor);
  // Not make_shared, which would fill it with zeros first.
  const std::shared_ptr<std::byte[]> storage{new std::byte[elements * sizeof(float)]};
  auto* next = reinterpret_cast<float*>(storage.get());
  for (std::size_t i = 0; i < header.tensors.size(); ++i) {
    const std::span values{next, elements_of(header.tensors[i])};
    TROUPE_TRY(source.read(i, 0, values));
    checkpoint.tensors.push_back({header.tensors[i].name, header.tensors[i].shape, values});
    next += values.size();
  }
  checkpoint.storage = storage;
  return checkpoint;
}

} // namespace troupe
