#include "metrics/tensorboard/detail/crc32c.hpp"

#include <array>
#include <bit>

namespace troupe::metrics {

namespace {

constexpr auto crc_of_bytes = [] {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t byte = 0; byte < table.size(); ++byte) {
    table[byte] = byte;
    for (int bit = 0; bit < 8; ++bit)
      table[byte] = (table[byte] >> 1) ^ (table[byte] & 1 ? 0x82f63b78 : 0);
  }
  return table;
}();

} // namespace

std::uint32_t crc32c(std::string_view bytes) {
  std::uint32_t crc = 0xffffffff;
  for (const char c : bytes)
    crc = (crc >> 8) ^ crc_of_bytes[(crc ^ static_cast<unsigned char>(c)) & 0xff];
  return ~crc;
}

std::uint32_t masked_crc32c(std::string_view bytes) {
  return std::rotr(crc32c(bytes), 15) + 0xa282ead8;
}

} // namespace troupe::metrics
