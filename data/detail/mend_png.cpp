#include "data/detail/png_file.hpp"

#include "core/fail.hpp"

#include <algorithm>
#include <string_view>

#include <zlib.h>

namespace troupe::data {

namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr std::size_t largest_block = 65535; // of a stored block in deflate

void append_number(Bytes& to, std::size_t value) {
  for (const int shift : {24, 16, 8, 0})
    to.push_back(static_cast<std::uint8_t>(value >> shift));
}

/// Appends the beginning of a chunk; end_chunk() writes its length.
std::size_t begin_chunk(Bytes& to, std::string_view name) {
  const auto begin = to.size();
  to.resize(begin + 4);
  to.insert(to.end(), name.begin(), name.end());
  return begin;
}

void end_chunk(Bytes& to, std::size_t begin) {
  Bytes length;
  append_number(length, to.size() - begin - 8);
  std::ranges::copy(length, to.begin() + static_cast<std::ptrdiff_t>(begin));
  append_number(to, crc32_z(0, to.data() + begin + 4, to.size() - begin - 4));
}

void append_chunk(Bytes& to, std::string_view name, PngBytes content) {
  const auto begin = begin_chunk(to, name);
  to.insert(to.end(), content.begin(), content.end());
  end_chunk(to, begin);
}

/// Decompresses the data of several chunks as one stream.
class Unpacker {
public:
  Unpacker(std::span<const PngBytes> data, std::span<const PngRows> rows)
      : data_{data}, rows_{rows} {}
  Unpacker(const Unpacker&) = delete;
  Unpacker& operator=(const Unpacker&) = delete;
  ~Unpacker() { inflateEnd(&stream_); }

  /// Fills all of `into`, with zeros after the end of the stream.
  Status unpack(std::span<std::uint8_t> into) {
    if (!ready_)
      return fail(Errc::internal, "zlib cannot start");
    stream_.next_out = into.data();
    stream_.avail_out = static_cast<uInt>(into.size());
    while (stream_.avail_out > 0 && state_ == Z_OK)
      TROUPE_TRY(step());
    if (stream_.avail_out > 0 && !are_whole_rows(rows_, stream_.total_out))
      return fail(Errc::data, "the last row is truncated");
    std::fill_n(stream_.next_out, stream_.avail_out, std::uint8_t{0});
    return {};
  }

private:
  Status step() {
    if (stream_.avail_in == 0) {
      if (data_.empty())
        return fail(Errc::data, "the file is truncated");
      stream_.next_in = const_cast<Bytef*>(data_.front().data()); // zlib does not write to it
      stream_.avail_in = static_cast<uInt>(data_.front().size());
      data_ = data_.subspan(1);
      return {};
    }
    state_ = inflate(&stream_, Z_NO_FLUSH);
    if (state_ == Z_OK || state_ == Z_STREAM_END)
      return {};
    return fail(Errc::data, "the pixels are damaged: {}",
                stream_.msg != nullptr ? stream_.msg : "no reason given");
  }

  std::span<const PngBytes> data_;
  std::span<const PngRows> rows_;
  z_stream stream_ = {};
  bool ready_ = inflateInit(&stream_) == Z_OK;
  int state_ = Z_OK;
};

/// Appends IDAT chunks, each with one stored block of the zlib stream.
Status append_stored(Bytes& to, std::span<const PngBytes> data, std::span<const PngRows> rows) {
  Unpacker unpacker{data, rows};
  const auto bytes = bytes_of(rows);
  auto sum = adler32_z(0, nullptr, 0);
  for (std::size_t done = 0; done < bytes;) {
    const auto size = std::min(bytes - done, largest_block);
    const auto begin = begin_chunk(to, "IDAT");
    if (done == 0)
      to.insert(to.end(), {0x78, 0x01}); // zlib's header
    const auto low = static_cast<std::uint8_t>(size), high = static_cast<std::uint8_t>(size >> 8);
    const auto last = static_cast<std::uint8_t>(done + size == bytes ? 1 : 0);
    to.insert(to.end(),
              {last, low, high, static_cast<std::uint8_t>(~low), static_cast<std::uint8_t>(~high)});
    to.resize(to.size() + size);
    const auto block = std::span{to}.last(size);
    TROUPE_TRY(unpacker.unpack(block));
    sum = adler32_z(sum, block.data(), block.size());
    done += size;
    if (done == bytes)
      append_number(to, sum);
    end_chunk(to, begin);
  }
  return {};
}

} // namespace

Result<Bytes> mend_png(const PngChunks& chunks) {
  Bytes file = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
  const auto rows = rows_of(read_png_header(chunks));
  const auto bytes = bytes_of(rows);
  file.reserve(bytes + bytes / 1024 + 4096);
  append_chunk(file, "IHDR", chunks.header);
  if (!chunks.palette.empty())
    append_chunk(file, "PLTE", chunks.palette);
  TROUPE_TRY(append_stored(file, chunks.data, rows));
  append_chunk(file, "IEND", {});
  return file;
}

} // namespace troupe::data
