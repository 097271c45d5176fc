/// Rewrites a damaged PNG whose pixels can still be decompressed as a PNG that libpng reads.
#pragma once

#include "data/detail/png_chunks.hpp"

namespace troupe::data {

/// Returns a file of the same pixels, stored without compression. As in Pillow, the checksum of the
/// pixel data is ignored, and rows missing after the end of the compressed data become zeros.
/// Memory: the unfiltered rows. Errors (Errc::data, without the file's name): the data are
/// truncated or damaged before the last row.
Result<std::vector<std::uint8_t>> mend_png(const PngChunks& chunks);

} // namespace troupe::data
