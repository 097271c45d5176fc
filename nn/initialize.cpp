#include "nn/initialize.hpp"

#include "core/fail.hpp"
#include "core/random.hpp"

#include <algorithm>

namespace troupe::nn {

namespace {

/// Draws the next value.
float draw(const Initial& initial, CounterRng& rng) {
  const auto value = static_cast<float>(initial.value);
  switch (initial.kind) {
  case Initial::Kind::normal:
    return value * rng.normal();
  case Initial::Kind::uniform:
    return value * (2.0f * rng.uniform() - 1.0f);
  default:
    return value;
  }
}

} // namespace

std::uint64_t stream_of(std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : name)
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

Result<InitialTensor> initial_value(const Tensor& tensor, std::uint64_t seed) {
  if (tensor.initial.kind == Initial::Kind::none)
    return fail(Errc::internal, "{} has no initialization", tensor.name);
  CounterRng rng{seed, stream_of(tensor.name)};
  std::vector<float> values(static_cast<std::size_t>(tensor.shape.elements()));
  std::generate(values.begin(), values.end(), [&] { return draw(tensor.initial, rng); });
  return InitialTensor{tensor.name, tensor.shape, std::move(values)};
}

std::vector<TensorId> initialized_tensors(const Graph& graph) {
  auto ids = graph.with_role(Role::parameter);
  const auto statistics = graph.with_role(Role::statistic);
  ids.insert(ids.end(), statistics.begin(), statistics.end());
  return ids;
}

} // namespace troupe::nn
