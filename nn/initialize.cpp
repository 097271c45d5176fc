#include "initialize.hpp"

#include "troupe/core/fail.hpp"
#include "troupe/core/random.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

namespace troupe::nn {

namespace {

/// Gives one value after the other.
using Filler = std::function<float(CounterRng&)>;

Filler constant(float value) {
  return [value](CounterRng&) { return value; };
}

Filler normal(double deviation) {
  return [s = static_cast<float>(deviation)](CounterRng& rng) { return s * rng.normal(); };
}

/// Uniform in [-bound, bound).
Filler uniform(double bound) {
  return [b = static_cast<float>(bound)](CounterRng& rng) {
    return b * (2.0f * rng.uniform() - 1.0f);
  };
}

/// The bound of a linear layer, by its weight (out, in).
Filler linear(const Graph& graph, TensorId weight) {
  return uniform(1.0 / std::sqrt(static_cast<double>(graph[weight].shape[1])));
}

/// The bias belongs to the matmul that made x.
Filler bias_filler(const Graph& graph, TensorId x) {
  for (const auto& node : graph.nodes)
    if (node.op == Op::matmul && node.outputs[0] == x)
      return linear(graph, node.inputs[1]);
  return constant(0.0f);
}

Filler filler(const Graph& graph, const Node& user, std::size_t input) {
  const auto& shape = graph[user.inputs[input]].shape;
  switch (user.op) {
  case Op::conv2d:
    return normal(std::sqrt(2.0 / static_cast<double>(shape[0] * shape[2] * shape[3])));
  case Op::batch_norm: // scale and running variance
    return constant(input == 1 || input == 4 ? 1.0f : 0.0f);
  case Op::batch_norm_finalize: // the same, behind two sums
    return constant(input == 2 || input == 5 ? 1.0f : 0.0f);
  case Op::matmul:
    return linear(graph, user.inputs[1]);
  case Op::bias:
    return bias_filler(graph, user.inputs[0]);
  default:
    return {};
  }
}

Filler filler_of(const Graph& graph, TensorId id) {
  for (const auto& node : graph.nodes) {
    const auto found = std::find(node.inputs.begin(), node.inputs.end(), id);
    if (found != node.inputs.end())
      return filler(graph, node, static_cast<std::size_t>(found - node.inputs.begin()));
  }
  return {};
}

} // namespace

std::uint64_t stream_of(std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : name)
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

Result<std::vector<InitialTensor>> initial_values(const Graph& graph, std::uint64_t seed) {
  auto ids = graph.with_role(Role::parameter);
  const auto statistics = graph.with_role(Role::statistic);
  ids.insert(ids.end(), statistics.begin(), statistics.end());
  std::vector<InitialTensor> all;
  for (const auto id : ids) {
    const auto& tensor = graph[id];
    const auto fill = filler_of(graph, id);
    if (!fill)
      return fail(Errc::internal, "nothing says how to initialize {}", tensor.name);
    CounterRng rng{seed, stream_of(tensor.name)};
    std::vector<float> values(static_cast<std::size_t>(tensor.shape.elements()));
    std::generate(values.begin(), values.end(), [&] { return fill(rng); });
    all.push_back({tensor.name, tensor.shape, std::move(values)});
  }
  return all;
}

} // namespace troupe::nn
