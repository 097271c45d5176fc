/// The checksum of TFRecord files.
///
/// Source: RFC 3720, appendix B.4 (CRC-32C), and the description of TFRecord in TensorFlow's
/// documentation (the mask).
#pragma once

#include <cstdint>
#include <string_view>

namespace troupe::metrics {

std::uint32_t crc32c(std::string_view bytes);
/// As TFRecord stores it, so that a checksum of what contains checksums stays a good one.
std::uint32_t masked_crc32c(std::string_view bytes);

} // namespace troupe::metrics
