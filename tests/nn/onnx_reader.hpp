/// Reads protocol buffers without knowing their messages: fields by number.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::nn::test {

/// A message's fields; numbers of fixed32 fields are their bits.
struct ProtoMessage {
  std::map<int, std::vector<std::uint64_t>> numbers;
  std::map<int, std::vector<std::string>> texts; ///< strings, bytes, messages

  /// Fails the test where it is no message.
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
