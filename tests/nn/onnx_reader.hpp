/// Reads protocol buffers without their message definitions: fields by number.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::nn::test {

/// The fields of a message; fixed32 fields are stored as their bits.
struct ProtoMessage {
  std::map<int, std::vector<std::uint64_t>> numbers;
  std::map<int, std::vector<std::string>> texts; ///< strings, bytes, messages

  /// Fails the test when `bytes` is not a valid message.
  static ProtoMessage read(std::string_view bytes);

  std::uint64_t number(int field) const;
  const std::string& text(int field) const;
  std::vector<ProtoMessage> messages(int field) const;
};

/// A node of a GraphProto.
struct OnnxNode {
  std::string op;
  std::vector<std::string> inputs, outputs;
  std::map<std::string, ProtoMessage> attributes; ///< by name
};

std::vector<OnnxNode> nodes_of(const ProtoMessage& graph);

} // namespace troupe::nn::test
