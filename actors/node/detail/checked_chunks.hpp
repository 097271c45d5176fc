/// Sends and receives byte sequences on a connection, in chunks with digests.
#pragma once

#include "core/net/connection.hpp"
#include "core/net/io_deadline.hpp"

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace troupe::actors {

/// Sends each chunk as soon as it is full.
class ChunkSender {
public:
  ChunkSender(net::Connection& to, const net::IoDeadline& io_deadline);

  Status add(std::span<const std::byte> bytes);
  /// Ends a sequence: sends the last chunk.
  Status finish();

private:
  net::Connection& to_;
  const net::IoDeadline& io_deadline_;
  std::vector<std::byte> chunk_;
};

/// Receives a sequence of this length. Calls `arrived` with the number of bytes so far. Errors:
/// network; corrupt.
Status receive_chunks(net::Connection& from, std::span<std::byte> to,
                      const net::IoDeadline& io_deadline,
                      const std::function<void(std::size_t)>& arrived = {});

} // namespace troupe::actors
