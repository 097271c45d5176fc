/// The wire format of protocol buffers, as far as ONNX's messages use it.
///
/// Source: "Encoding" in the documentation of Protocol Buffers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace troupe::nn::onnx {

/// A message that is being written: fields in the order of the calls. Field numbers are those of
/// onnx.proto.
class Message {
public:
  /// int32, int64, bool and enumerations.
  Message& integer(int field, std::int64_t value);
  Message& real(int field, float value);
  /// Strings, bytes, and messages that are written already.
  Message& text(int field, std::string_view bytes);
  Message& message(int field, const Message& part) { return text(field, part.bytes_); }
  /// Begins a field of `size` bytes that whoever reads bytes() writes behind them.
  Message& begin(int field, std::uint64_t size);

  const std::string& bytes() const { return bytes_; }

private:
  void tag(int field, unsigned wire_type);
  void varint(std::uint64_t value);

  std::string bytes_;
};

} // namespace troupe::nn::onnx
