/// A damaged PNG whose pixels can still be unpacked becomes a PNG that libpng reads.
#pragma once

#include "data/detail/png_chunks.hpp"

namespace troupe::data {

/// A file of the same pixels, stored without compression. As with Pillow, the pixels' own checksum
/// does not count, and rows that are missing after the end of the compressed data are zeros.
/// Memory: the unfiltered rows. Errors (Errc::data, without the file's name): the data are
/// truncated or damaged before the last row.
Result<std::vector<std::uint8_t>> mend_png(const PngChunks& chunks);

} // namespace troupe::data
