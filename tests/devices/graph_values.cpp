#include "tests/devices/graph_values.hpp"

#include "core/float16.hpp"
#include "core/random.hpp"
#include "nn/passes/cache_attention.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <string>

namespace troupe::testing {

namespace {

std::vector<float> values_of(const std::string& name, std::size_t elements, float scale,
                             float offset) {
  std::uint64_t key = 1469598103934665603u;
  for (const char c : name)
    key = (key ^ static_cast<std::uint64_t>(c)) * 1099511628211u;
  CounterRng random{key, 0};
  std::vector<float> values(elements);
  for (float& value : values)
    value = offset + scale * random.normal();
  return values;
}

template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

std::vector<std::byte> in_type(DType type, const std::vector<float>& values) {
  if (type == DType::f32)
    return bytes_of(values);
  std::vector<std::uint16_t> rounded(values.size());
  std::ranges::transform(values, rounded.begin(),
                         type == DType::f16 ? f16_from_float : bf16_from_float);
  return bytes_of(rounded);
}

/// Returns the number of image channels that nn/passes/format_input added.
std::size_t padded_channels(const Graph& graph, TensorId images) {
  for (const auto& node : graph.nodes)
    if (node.op == Op::conv2d && node.inputs[0] == images)
      return static_cast<std::size_t>(std::get<Conv2dAttributes>(node.attributes).padded_channels);
  return 0;
}

/// Returns ids below 11, some of them frequent. A continued sequence has three earlier tokens.
std::vector<std::byte> tokens_of(const Tensor& tensor) {
  if (tensor.name == nn::first_place)
    return bytes_of(std::vector<std::int32_t>{3});
  std::vector<std::int32_t> ids(static_cast<std::size_t>(tensor.shape.elements()));
  for (std::size_t i = 0; i < ids.size(); ++i)
    ids[i] = static_cast<std::int32_t>(i * i % 11);
  return bytes_of(ids);
}

std::vector<std::byte> images_of(const Graph& graph, TensorId id, const std::string& suffix,
                                 float noise) {
  const auto& tensor = graph[id];
  if (tensor.dtype == DType::i32)
    return tokens_of(tensor);
  const auto channels = static_cast<std::size_t>(tensor.shape.dims.back());
  const auto filled = channels - padded_channels(graph, id);
  const auto pixels = static_cast<std::size_t>(tensor.shape.elements()) / channels;
  auto values = values_of("images" + suffix, pixels * filled, 1, 0);
  if (noise != 0)
    std::ranges::transform(values, values_of("noise" + suffix, values.size(), noise, 1),
                           values.begin(), std::multiplies{});
  std::vector<float> padded(pixels * channels);
  for (std::size_t pixel = 0; pixel < pixels; ++pixel)
    for (std::size_t channel = 0; channel < filled; ++channel)
      padded[pixel * channels + channel] = values[pixel * filled + channel];
  return in_type(tensor.dtype, padded);
}

std::vector<std::byte> targets_of(const Graph& graph, TensorId id, int number,
                                  const std::string& suffix) {
  const auto elements = static_cast<std::size_t>(graph[id].shape.elements());
  if (graph[id].dtype == DType::f32) {
    auto values = values_of("targets" + suffix, elements, 1, 0);
    values[elements / static_cast<std::size_t>(graph[id].shape[0])] =
        std::nanf(""); // its row is ignored
    return bytes_of(values);
  }
  std::vector<std::int32_t> labels(elements);
  for (std::size_t i = 0; i < elements; ++i)
    labels[i] = i == 1 ? -1 : (static_cast<std::int32_t>(i) * 7 + number) % 3;
  return bytes_of(labels);
}

} // namespace

std::vector<float> initial_values(const Slot& slot) {
  const auto elements = static_cast<std::size_t>(slot.shape.elements());
  if (slot.name.find("running_var") != std::string::npos)
    return std::vector<float>(elements, 1.0f);
  if (slot.shape.rank() == 1)
    return values_of(slot.name, elements, 0.3f,
                     slot.name.find("weight") != std::string::npos ? 1.0f : 0.1f);
  const auto fan_in = slot.shape.elements() / slot.shape[0];
  return values_of(slot.name, elements, std::sqrt(2.0f / static_cast<float>(fan_in)), 0.0f);
}

std::vector<std::vector<std::byte>> batch_values(const Graph& graph, int number, float noise) {
  const auto suffix = number == 0 ? std::string{} : std::to_string(number);
  std::vector<std::vector<std::byte>> values;
  for (TensorId id = 0; id < std::ssize(graph.tensors); ++id)
    if (graph[id].role == Role::input)
      values.push_back(images_of(graph, id, suffix, noise));
    else if (graph[id].role == Role::target)
      values.push_back(targets_of(graph, id, number, suffix));
  return values;
}

} // namespace troupe::testing
