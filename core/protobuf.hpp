/// The wire format of protocol buffers, as far as ONNX's and TensorBoard's messages use it.
///
/// Source: "Encoding" in the documentation of Protocol Buffers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace troupe::protobuf {

/// Builds a message: fields in the order of the calls.
class Message {
public:
  /// int32, int64, bool and enumerations.
  Message& integer(int field, std::int64_t value);
  Message& real(int field, float value);
  Message& real(int field, double value);
  /// Strings, bytes and serialized messages.
  Message& text(int field, std::string_view bytes);
  Message& message(int field, const Message& part) { return text(field, part.bytes_); }
  /// Begins a field of `size` bytes. The caller writes them after bytes().
  Message& begin(int field, std::uint64_t size);

  const std::string& bytes() const { return bytes_; }

private:
  void tag(int field, unsigned wire_type);
  void varint(std::uint64_t value);
  void fixed(std::uint64_t bits, int bytes);

  std::string bytes_;
};

} // namespace troupe::protobuf
