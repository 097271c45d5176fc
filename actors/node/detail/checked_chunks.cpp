#include "actors/node/detail/checked_chunks.hpp"

#include "core/fail.hpp"
#include "core/sha256.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace troupe::actors {

namespace {

using Digest = std::array<std::byte, 64>; // hexadecimal

constexpr std::size_t chunk_bytes = std::size_t{256} << 10;

Digest digest_of(std::span<const std::byte> bytes) {
  Sha256 sha256;
  sha256.update(bytes);
  const auto text = sha256.hex_digest();
  Digest digest;
  std::memcpy(digest.data(), text.data(), digest.size());
  return digest;
}

Status receive_chunk(net::Connection& from, std::span<std::byte> chunk,
                     const net::IoDeadline& io_deadline) {
  Digest digest;
  TROUPE_TRY(net::read_all(from, digest, io_deadline));
  TROUPE_TRY(net::read_all(from, chunk, io_deadline));
  return digest == digest_of(chunk)
             ? Status{}
             : fail(Errc::corrupt, "a chunk of the checkpoint was damaged in transfer");
}

} // namespace

ChunkSender::ChunkSender(net::Connection& to, const net::IoDeadline& io_deadline)
    : to_{to}, io_deadline_{io_deadline} {
  chunk_.reserve(chunk_bytes);
}

Status ChunkSender::add(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const auto part = bytes.first(std::min(chunk_bytes - chunk_.size(), bytes.size()));
    chunk_.insert(chunk_.end(), part.begin(), part.end());
    bytes = bytes.subspan(part.size());
    if (chunk_.size() == chunk_bytes)
      TROUPE_TRY(finish());
  }
  return {};
}

Status ChunkSender::finish() {
  TROUPE_TRY(net::write_all(to_, digest_of(chunk_), io_deadline_));
  TROUPE_TRY(net::write_all(to_, chunk_, io_deadline_));
  chunk_.clear();
  return {};
}

Status receive_chunks(net::Connection& from, std::span<std::byte> to,
                      const net::IoDeadline& io_deadline,
                      const std::function<void(std::size_t)>& arrived) {
  for (std::size_t begin = 0; begin <= to.size(); begin += chunk_bytes) {
    const auto chunk = to.subspan(begin, std::min(chunk_bytes, to.size() - begin));
    TROUPE_TRY(receive_chunk(from, chunk, io_deadline));
    if (arrived)
      arrived(begin + chunk.size());
  }
  return {};
}

} // namespace troupe::actors
