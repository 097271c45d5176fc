#include "tests/nn/onnx_reader.hpp"

#include <catch2/catch_test_macros.hpp>

namespace troupe::nn::test {

namespace {

std::string_view take(std::string_view& bytes, std::uint64_t count) {
  REQUIRE(count <= bytes.size());
  const auto taken = bytes.substr(0, count);
  bytes.remove_prefix(count);
  return taken;
}

std::uint64_t little_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (auto i = bytes.size(); i-- > 0;)
    value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

std::uint64_t take_varint(std::string_view& bytes) {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    const auto byte = static_cast<unsigned char>(take(bytes, 1)[0]);
    value |= std::uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80)
      return value;
  }
  FAIL("a number without end");
  return value;
}

} // namespace

ProtoMessage ProtoMessage::read(std::string_view bytes) {
  ProtoMessage message;
  while (!bytes.empty()) {
    const auto tag = take_varint(bytes);
    const auto field = static_cast<int>(tag >> 3);
    switch (tag & 7) {
    case 0:
      message.numbers[field].push_back(take_varint(bytes));
      break;
    case 2:
      message.texts[field].emplace_back(take(bytes, take_varint(bytes)));
      break;
    case 5:
      message.numbers[field].push_back(little_endian(take(bytes, 4)));
      break;
    default:
      FAIL("a field of a type that ONNX does not use");
    }
  }
  return message;
}

std::uint64_t ProtoMessage::number(int field) const {
  INFO("field " << field);
  REQUIRE(numbers.contains(field));
  return numbers.at(field).front();
}

const std::string& ProtoMessage::text(int field) const {
  INFO("field " << field);
  REQUIRE(texts.contains(field));
  return texts.at(field).front();
}

std::vector<ProtoMessage> ProtoMessage::messages(int field) const {
  std::vector<ProtoMessage> read_in;
  if (texts.contains(field))
    for (const auto& bytes : texts.at(field))
      read_in.push_back(read(bytes));
  return read_in;
}

std::vector<OnnxNode> nodes_of(const ProtoMessage& graph) {
  std::vector<OnnxNode> nodes;
  for (const auto& node : graph.messages(1)) {
    OnnxNode made{.op = node.text(4), .inputs = node.texts.at(1), .outputs = node.texts.at(2)};
    for (auto& attribute : node.messages(5))
      made.attributes.emplace(attribute.text(1), attribute);
    nodes.push_back(std::move(made));
  }
  return nodes;
}

} // namespace troupe::nn::test
