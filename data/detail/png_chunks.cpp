#include "data/detail/png_file.hpp"

#include "core/fail.hpp"

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

} // namespace troupe::data
