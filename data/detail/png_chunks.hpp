/// Finds the chunks of a PNG file and reports damage.
#pragma once

#include "core/error.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace troupe::data {

using PngBytes = std::span<const std::uint8_t>;

struct PngChunks {
  PngBytes header;            ///< content of IHDR
  PngBytes palette;           ///< content of PLTE; empty if missing
  std::vector<PngBytes> data; ///< content of the IDAT chunks, as far as present
  std::string damage;         ///< damage that does not prevent reading the pixels; empty if none
};

struct PngHeader {
  std::uint32_t width = 0, height = 0;
  std::uint8_t depth = 0, colour_type = 0;
  bool interlaced = false;
};
PngHeader read_png_header(const PngChunks& chunks);

/// Finds the chunks, as strictly as Pillow: checksums are verified before the pixel data, and
/// chunks after it may be missing. Errors: Errc::data, without the file's name.
Result<PngChunks> find_png_chunks(PngBytes file);

} // namespace troupe::data
