/// The parts of a PNG file: its chunks, the rows of its pixels before compression, and a copy of a
/// damaged file that libpng reads.
#pragma once

#include "core/error.hpp"

#include <cstddef>
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

/// Rows of equal length.
struct PngRows {
  std::size_t bytes = 0; ///< size of each row, including its filter byte
  std::size_t count = 0;
};

/// Returns the rows of an image. An interlaced image has rows of seven passes.
std::vector<PngRows> rows_of(const PngHeader& header);

std::size_t bytes_of(std::span<const PngRows> all);
/// Returns whether the first `bytes` bytes end at the end of a row.
bool are_whole_rows(std::span<const PngRows> all, std::size_t bytes);

/// Returns Errc::data (without the file's name) if an image has too many pixels, or more than a
/// file of `file_bytes` bytes can hold. Call it before allocating memory for the image.
Status check_png_size(const PngHeader& header, std::size_t file_bytes);

/// Rewrites a damaged PNG, whose pixels can still be decompressed, as one that libpng reads. It has
/// the same pixels, stored without compression. As in Pillow, the checksum of the pixel data is
/// ignored, and rows missing after the end of the compressed data become zeros. Memory: the
/// unfiltered rows. Errors (Errc::data, without the file's name): the data are truncated or damaged
/// before the last row.
Result<std::vector<std::uint8_t>> mend_png(const PngChunks& chunks);

} // namespace troupe::data
