/// The chunks of a PNG file, with what is wrong with them.
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
  PngBytes palette;           ///< content of PLTE; empty: there is none
  std::vector<PngBytes> data; ///< content of the IDAT chunks, as much as is there
  std::string damage;         ///< that does not keep the pixels from being read; empty: none
};

struct PngHeader {
  std::uint32_t width = 0, height = 0;
  std::uint8_t depth = 0, colour_type = 0;
  bool interlaced = false;
};
PngHeader read_png_header(const PngChunks& chunks);

/// Finds them, as strict as Pillow is: checksums count up to the pixels, and what follows the
/// pixels may be missing. Errors: Errc::data, without the file's name.
Result<PngChunks> find_png_chunks(PngBytes file);

} // namespace troupe::data
