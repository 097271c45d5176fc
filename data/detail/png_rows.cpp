#include "data/detail/png_file.hpp"

#include "core/fail.hpp"
#include "data/detail/image_file.hpp"

#include <array>

namespace troupe::data {

namespace {

constexpr std::size_t most_unpacked = 1032; // maximum compression ratio of deflate

std::size_t channels_of(std::uint8_t colour_type) {
  constexpr std::array<std::size_t, 7> channels = {1, 0, 3, 1, 2, 0, 4};
  return colour_type < channels.size() ? channels[colour_type] : 0;
}

void add_rows(std::size_t width, std::size_t height, std::size_t bits, std::vector<PngRows>& rows) {
  if (width > 0)
    rows.push_back({1 + (width * bits + 7) / 8, height});
}

} // namespace

std::vector<PngRows> rows_of(const PngHeader& header) {
  struct Pass {
    std::size_t x, y, dx, dy;
  };
  constexpr std::array<Pass, 7> passes = {{{0, 0, 8, 8},
                                           {4, 0, 8, 8},
                                           {0, 4, 4, 8},
                                           {2, 0, 4, 4},
                                           {0, 2, 2, 4},
                                           {1, 0, 2, 2},
                                           {0, 1, 1, 2}}};
  const auto bits = header.depth * channels_of(header.colour_type);
  const std::size_t width = header.width, height = header.height;
  std::vector<PngRows> rows;
  if (!header.interlaced)
    add_rows(width, height, bits, rows);
  else
    for (const auto& pass : passes)
      add_rows((width + pass.dx - 1 - pass.x) / pass.dx, (height + pass.dy - 1 - pass.y) / pass.dy,
               bits, rows);
  return rows;
}

std::size_t bytes_of(std::span<const PngRows> all) {
  std::size_t bytes = 0;
  for (const auto& rows : all)
    bytes += rows.bytes * rows.count;
  return bytes;
}

bool are_whole_rows(std::span<const PngRows> all, std::size_t bytes) {
  for (const auto& rows : all) {
    if (bytes < rows.bytes * rows.count)
      return bytes % rows.bytes == 0;
    bytes -= rows.bytes * rows.count;
  }
  return true;
}

Status check_png_size(const PngHeader& header, std::size_t file_bytes) {
  if (std::uint64_t{header.width} * header.height > max_image_pixels)
    return fail(Errc::data, "{} x {} pixels are too many", header.width, header.height);
  if (bytes_of(rows_of(header)) / most_unpacked > file_bytes)
    return fail(Errc::data, "{} x {} pixels do not fit in {} bytes", header.width, header.height,
                file_bytes);
  return {};
}

} // namespace troupe::data
