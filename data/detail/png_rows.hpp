/// The layout of a PNG's rows before compression.
#pragma once

#include "data/detail/png_chunks.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace troupe::data {

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

} // namespace troupe::data
