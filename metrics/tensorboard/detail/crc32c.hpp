/// The checksum of TFRecord files.
///
/// Source: RFC 3720, appendix B.4 (CRC-32C), and the description of TFRecord in TensorFlow's
/// documentation (the mask).
#pragma once

#include <cstdint>
#include <string_view>

namespace troupe::metrics {

std::uint32_t crc32c(std::string_view bytes);
/// Masked as in TFRecord files, so that checksums of data that contains checksums stay effective.
std::uint32_t masked_crc32c(std::string_view bytes);

} // namespace troupe::metrics
