#include "training/initial_state.hpp"

#include "core/fail.hpp"
#include "nn/initialize.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace troupe::training {

namespace {

CheckpointHeader header_of(const std::vector<Tensor>& tensors) {
  CheckpointHeader header;
  for (const auto& tensor : tensors)
    header.tensors.push_back({tensor.name, tensor.shape});
  return header;
}

class InitialState final : public StateSource {
public:
  InitialState(std::vector<Tensor> tensors, std::uint64_t seed)
      : StateSource{header_of(tensors)}, tensors_{std::move(tensors)}, seed_{seed} {}

  Status read(std::size_t tensor, std::size_t first, std::span<float> into) const override {
    TROUPE_TRY(const auto drawn, nn::initial_value(tensors_[tensor], seed_));
    std::ranges::copy(std::span{drawn.values}.subspan(first, into.size()), into.begin());
    return {};
  }

private:
  std::vector<Tensor> tensors_;
  std::uint64_t seed_;
};

} // namespace

StateSourcePtr initial_state(const Graph& graph, std::uint64_t seed) {
  std::vector<Tensor> tensors;
  for (const auto id : nn::initialized_tensors(graph))
    tensors.push_back(graph[id]);
  return std::make_shared<const InitialState>(std::move(tensors), seed);
}

} // namespace troupe::training
