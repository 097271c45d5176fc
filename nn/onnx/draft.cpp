#include "nn/onnx/draft.hpp"

#include <algorithm>
#include <bit>

namespace troupe::nn::onnx {

namespace {

/// AttributeProto.AttributeType
enum AttributeType : std::int64_t { real_type = 1, integer_type = 2, integers_type = 7 };

/// AttributeProto: name 1, f 2, i 3, ints 8, type 20.
Message attribute(const std::string& name, AttributeType type) {
  Message made;
  made.text(1, name).integer(20, type);
  return made;
}

template <class Unsigned>
void append_little_endian(std::string& bytes, Unsigned value) {
  for (std::size_t byte = 0; byte < sizeof value; ++byte)
    bytes += static_cast<char>((value >> (8 * byte)) & 0xff);
}

} // namespace

Message integer_attribute(const std::string& name, std::int64_t value) {
  return std::move(attribute(name, integer_type).integer(3, value));
}

Message integers_attribute(const std::string& name, const std::vector<std::int64_t>& values) {
  auto made = attribute(name, integers_type);
  for (const auto value : values)
    made.integer(8, value);
  return made;
}

Message real_attribute(const std::string& name, float value) {
  return std::move(attribute(name, real_type).real(2, value));
}

std::string Draft::input(TensorId id) {
  const auto& tensor = graph_[id];
  if (tensor.role != Role::parameter && tensor.role != Role::statistic)
    return output(id);
  if (std::ranges::count(initializers_, tensor.name, &Initializer::name) == 0)
    initializers_.push_back({.name = tensor.name, .shape = tensor.shape, .type = type_});
  return tensor.name;
}

std::string Draft::output(TensorId id) const {
  const auto renamed = renamed_.find(id);
  return renamed == renamed_.end() ? graph_[id].name : renamed->second;
}

void Draft::rename(TensorId id, std::string name) {
  renamed_.insert_or_assign(id, std::move(name));
}

/// NodeProto: input 1, output 2, name 3, op_type 4, attribute 5.
void Draft::add_node(std::string_view op_type, const std::vector<std::string>& inputs,
                     const std::string& output, const Attributes& attributes) {
  Message node;
  for (const auto& input : inputs)
    node.text(1, input);
  node.text(2, output).text(3, "node:" + output).text(4, op_type);
  for (const auto& attribute : attributes)
    node.message(5, attribute);
  nodes_.message(1, node);
}

std::string Draft::integers(const std::string& name, const std::vector<std::int64_t>& values) {
  Initializer made{.name = name, .shape = {std::ssize(values)}, .type = integer_data};
  for (const auto value : values)
    append_little_endian(made.bytes, static_cast<std::uint64_t>(value));
  initializers_.push_back(std::move(made));
  return name;
}

std::string Draft::reals(const std::string& name, const Shape& shape,
                         const std::vector<double>& values, bool doubles) {
  Initializer made{.name = name, .shape = shape, .type = doubles ? double_data : real_data};
  for (const double value : values)
    if (doubles)
      append_little_endian(made.bytes, std::bit_cast<std::uint64_t>(value));
    else
      append_little_endian(made.bytes, std::bit_cast<std::uint32_t>(static_cast<float>(value)));
  initializers_.push_back(std::move(made));
  return name;
}

} // namespace troupe::nn::onnx
