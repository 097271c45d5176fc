#include "state_source.hpp"

#include "../fail.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

namespace {

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

StateSource::StateSource(CheckpointHeader header) : header_{std::move(header)} {
  for (std::size_t i = 0; i < header_.tensors.size(); ++i)
    numbers_.emplace(header_.tensors[i].name, i);
}

std::optional<std::size_t> StateSource::find(std::string_view name) const {
  const auto found = numbers_.find(name);
  return found == numbers_.end() ? std::nullopt : std::optional{found->second};
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
