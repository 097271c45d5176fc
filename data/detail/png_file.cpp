#include "data/detail/png_file.hpp"

#include "core/fail.hpp"
#include "data/detail/image_file.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include <zlib.h>

namespace troupe::data {

namespace {

constexpr std::array<std::uint8_t, 8> signature = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
constexpr std::size_t number_bytes = 4, name_bytes = 4;
constexpr std::size_t header_bytes = 13;

std::size_t big_endian(PngBytes bytes) {
  std::size_t value = 0;
  for (const auto byte : bytes.first(number_bytes))
    value = value << 8 | byte;
  return value;
}

struct Chunk {
  std::string_view name; ///< empty: no further chunk
  PngBytes content;      ///< as far as present
  bool whole = false;    ///< complete, with a correct checksum
  bool cut = false;      ///< the file ends inside the content
};

Chunk take_chunk(PngBytes& rest) {
  constexpr std::size_t begin = number_bytes + name_bytes;
  if (rest.size() < begin)
    return {};
  Chunk chunk;
  const std::string_view name{reinterpret_cast<const char*>(rest.data()) + number_bytes,
                              name_bytes};
  if (!std::ranges::all_of(name, [](unsigned char c) { return std::isalnum(c) || c == '_'; }))
    return {};
  const auto length = big_endian(rest), there = std::min(length, rest.size() - begin);
  chunk.name = name;
  chunk.content = rest.subspan(begin, there);
  chunk.cut = there < length;
  const auto sum = crc32_z(0, rest.data() + number_bytes, name_bytes + there);
  const auto after = rest.subspan(begin + there);
  chunk.whole = !chunk.cut && after.size() >= number_bytes && big_endian(after) == sum;
  rest = after.subspan(std::min(after.size(), number_bytes));
  return chunk;
}

/// Reads the chunks before the pixel data. Returns the first chunk of the pixel data.
Result<Chunk> read_until_data(PngBytes& rest, PngChunks& found) {
  for (;;) {
    const auto chunk = take_chunk(rest);
    if (chunk.name == "IDAT")
      return chunk;
    if (chunk.name.empty() || chunk.name == "IEND")
      return fail(Errc::data, "it has no pixels");
    if (!chunk.whole)
      return fail(Errc::data, "the checksum of its chunk {} is wrong", chunk.name);
    if (chunk.name == "IHDR")
      found.header = chunk.content;
    else if (chunk.name == "PLTE")
      found.palette = chunk.content;
  }
}

void add_data(const Chunk& chunk, PngChunks& found) {
  found.data.push_back(chunk.content);
  if (!chunk.whole && found.damage.empty())
    found.damage = chunk.cut ? "the file is truncated" : "a checksum of the pixels is wrong";
}

/// Reads the chunks after the pixel data, starting with `chunk`.
Status read_to_end(Chunk chunk, PngBytes& rest, PngChunks& found) {
  for (; !chunk.name.empty() && chunk.name != "IEND"; chunk = take_chunk(rest))
    if (chunk.cut)
      return fail(Errc::data, "the file is truncated in its chunk {}", chunk.name);
  if (found.damage.empty() && !chunk.whole)
    found.damage = "its end (IEND) is missing or damaged";
  return {};
}

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

PngHeader read_png_header(const PngChunks& chunks) {
  const auto& header = chunks.header;
  return {.width = static_cast<std::uint32_t>(big_endian(header)),
          .height = static_cast<std::uint32_t>(big_endian(header.subspan(4))),
          .depth = header[8],
          .colour_type = header[9],
          .interlaced = header[12] != 0};
}

Result<PngChunks> find_png_chunks(PngBytes file) {
  if (!std::ranges::equal(file.first(std::min(file.size(), signature.size())), signature))
    return fail(Errc::data, "its first {} bytes are not those of a PNG", signature.size());
  PngChunks found;
  auto rest = file.subspan(signature.size());
  TROUPE_TRY(auto chunk, read_until_data(rest, found));
  if (found.header.size() != header_bytes)
    return fail(Errc::data, "it has no header (IHDR) of {} bytes", header_bytes);
  for (; chunk.name == "IDAT"; chunk = take_chunk(rest))
    add_data(chunk, found);
  TROUPE_TRY(read_to_end(chunk, rest, found));
  return found;
}

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
