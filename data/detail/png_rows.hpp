/// The rows of a PNG as they are compressed.
#pragma once

#include "data/detail/png_chunks.hpp"

#include <cstddef>
#include <span>
#include <vector>

namespace troupe::data {

/// Rows of one length.
struct PngRows {
  std::size_t bytes = 0; ///< of each, with the byte that names its filter
  std::size_t count = 0;
};

/// All rows of an image: those of an interlaced one come in seven passes.
std::vector<PngRows> rows_of(const PngHeader& header);

std::size_t bytes_of(std::span<const PngRows> all);
/// Whether the first `bytes` bytes end with a row.
bool are_whole_rows(std::span<const PngRows> all, std::size_t bytes);

/// Errc::data (without the file's name) for an image of too many pixels, and for one that a file of
/// so many bytes cannot hold: before memory is taken for it.
Status check_png_size(const PngHeader& header, std::size_t file_bytes);

} // namespace troupe::data
