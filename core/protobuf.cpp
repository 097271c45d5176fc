#include "core/protobuf.hpp"

#include <bit>

namespace troupe::protobuf {

namespace {

enum WireType : unsigned { varint_type = 0, fixed64 = 1, length_delimited = 2, fixed32 = 5 };

} // namespace

/// Seven bits per byte, the lowest first; the highest bit is set if more bytes follow.
void Message::varint(std::uint64_t value) {
  for (; value >= 0x80; value >>= 7)
    bytes_ += static_cast<char>((value & 0x7f) | 0x80);
  bytes_ += static_cast<char>(value);
}

/// The lowest byte first.
void Message::fixed(std::uint64_t bits, int bytes) {
  for (; bytes > 0; --bytes, bits >>= 8)
    bytes_ += static_cast<char>(bits & 0xff);
}

void Message::tag(int field, unsigned wire_type) {
  varint(static_cast<std::uint64_t>(field) << 3 | wire_type);
}

Message& Message::integer(int field, std::int64_t value) {
  tag(field, varint_type);
  varint(static_cast<std::uint64_t>(value)); // negative values take ten bytes
  return *this;
}

Message& Message::real(int field, float value) {
  tag(field, fixed32);
  fixed(std::bit_cast<std::uint32_t>(value), 4);
  return *this;
}

Message& Message::real(int field, double value) {
  tag(field, fixed64);
  fixed(std::bit_cast<std::uint64_t>(value), 8);
  return *this;
}

Message& Message::text(int field, std::string_view bytes) {
  begin(field, bytes.size());
  bytes_ += bytes;
  return *this;
}

Message& Message::begin(int field, std::uint64_t size) {
  tag(field, length_delimited);
  varint(size);
  return *this;
}

} // namespace troupe::protobuf
