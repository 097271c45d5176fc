#include "data/detail/memory_images.hpp"

#include "core/sha256.hpp"

#include <array>
#include <cstring>

#include <zlib.h>

namespace troupe::data {

Result<ImageView> MemoryImages::read(std::int64_t index, std::vector<std::uint8_t>&) const {
  const auto first = static_cast<std::size_t>(index) * image_bytes();
  return ImageView{{pixels_.data() + first, image_bytes()}, height_, width_, info().channels};
}

void MemoryImages::keep(std::span<const std::int64_t> samples) {
  const auto bytes = image_bytes();
  auto* to = pixels_.data();
  for (const auto sample : samples) {
    std::memmove(to, pixels_.data() + static_cast<std::size_t>(sample) * bytes, bytes);
    to += bytes;
  }
  pixels_.resize(samples.size() * bytes);
}

/// Hashes a CRC of all pixels, because SHA-256 of them takes several times as long.
void MemoryImages::add_pixels(Sha256& sha) const {
  const auto bytes = static_cast<std::size_t>(size()) * image_bytes();
  const std::array<std::uint64_t, 3> content = {static_cast<std::uint64_t>(height_),
                                                static_cast<std::uint64_t>(width_),
                                                crc32_z(0, pixels_.data(), bytes)};
  sha.update(std::as_bytes(std::span{content}));
}

std::size_t MemoryImages::image_bytes() const {
  return static_cast<std::size_t>(height_) * static_cast<std::size_t>(width_) *
         static_cast<std::size_t>(info().channels);
}

} // namespace troupe::data
