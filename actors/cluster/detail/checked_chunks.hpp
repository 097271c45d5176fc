/// Rows of bytes on a connection, in chunks with their digests.
#pragma once

#include "troupe/core/net/connection.hpp"
#include "troupe/core/net/patience.hpp"

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace troupe::actors {

/// Chunks go as soon as they are full.
class ChunkSender {
public:
  ChunkSender(net::Connection& to, const net::Patience& patience);

  Status add(std::span<const std::byte> bytes);
  /// The end of a row.
  Status finish();

private:
  net::Connection& to_;
  const net::Patience& patience_;
  std::vector<std::byte> chunk_;
};

/// All of a row, which is so long; `arrived` is told how much of it is there. Errors: network;
/// corrupt.
Status receive_chunks(net::Connection& from, std::span<std::byte> to, const net::Patience& patience,
                      const std::function<void(std::size_t)>& arrived = {});

} // namespace troupe::actors
