#include "checkpoint_transfer.hpp"

#include "troupe/core/fail.hpp"
#include "troupe/core/sha256.hpp"
#include "troupe/metrics/readable.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <future>
#include <latch>
#include <vector>

namespace troupe::actors {

namespace {

using Clock = std::chrono::steady_clock;
using Digest = std::array<std::byte, 64>; // hex

constexpr std::size_t chunk_bytes = std::size_t{256} << 10;
constexpr std::chrono::seconds between_lines{2};
/// For other nodes to get theirs: whether they live is seen elsewhere.
constexpr std::chrono::hours long_time{24};

collectives::LinkName link(const engine::GenerationRecord& generation, std::int32_t node) {
  return {.group = "checkpoint", .from = generation.source, .to = node};
}

Digest digest_of(std::span<const std::byte> bytes) {
  Sha256 sha256;
  sha256.update(bytes);
  const auto text = sha256.hex_digest();
  Digest digest;
  std::memcpy(digest.data(), text.data(), digest.size());
  return digest;
}

std::span<std::byte> one_byte(std::byte& byte) {
  return {&byte, 1};
}

/// A row of bytes, in chunks that go as soon as they are full.
class Sender {
public:
  Sender(net::Connection& to, const net::Patience& patience) : to_{to}, patience_{patience} {
    chunk_.reserve(chunk_bytes);
  }

  Status add(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const auto part = bytes.first(std::min(chunk_bytes - chunk_.size(), bytes.size()));
      chunk_.insert(chunk_.end(), part.begin(), part.end());
      bytes = bytes.subspan(part.size());
      if (chunk_.size() == chunk_bytes)
        TROUPE_TRY(finish());
    }
    return {};
  }

  Status finish() {
    TROUPE_TRY(net::write_all(to_, digest_of(chunk_), patience_));
    TROUPE_TRY(net::write_all(to_, chunk_, patience_));
    chunk_.clear();
    return {};
  }

private:
  net::Connection& to_;
  const net::Patience& patience_;
  std::vector<std::byte> chunk_;
};

/// Until the node has said that it has all.
Status send_to(net::Connection& to, const CheckpointPieces& pieces, const net::Patience& patience) {
  const auto size = pieces.bytes();
  TROUPE_TRY(net::write_all(to, std::as_bytes(std::span{&size, 1}), patience));
  Sender sender{to, patience};
  for (const auto& part : pieces.parts())
    TROUPE_TRY(sender.add(part));
  TROUPE_TRY(sender.finish());
  std::byte has_it{};
  return net::read_all(to, one_byte(has_it), patience);
}

/// The whole row, chunk by chunk.
class Receiver {
public:
  Receiver(net::Connection& from, const net::Patience& patience, std::span<std::byte> to)
      : from_{from}, patience_{patience}, to_{to} {}

  Status run(const std::function<void(const std::string&)>& say) {
    auto said = Clock::now();
    for (std::size_t begin = 0; begin <= to_.size(); begin += chunk_bytes) {
      const auto chunk = to_.subspan(begin, std::min(chunk_bytes, to_.size() - begin));
      TROUPE_TRY(take(chunk));
      if (Clock::now() < said + between_lines)
        continue;
      said = Clock::now();
      say(fmt::format("fetching the checkpoint: {}%", (begin + chunk.size()) * 100 / to_.size()));
    }
    return {};
  }

private:
  Status take(std::span<std::byte> chunk) {
    Digest digest;
    TROUPE_TRY(net::read_all(from_, digest, patience_));
    TROUPE_TRY(net::read_all(from_, chunk, patience_));
    return digest == digest_of(chunk)
               ? Status{}
               : fail(Errc::corrupt, "a chunk of the checkpoint was damaged on its way");
  }

  net::Connection& from_;
  const net::Patience& patience_;
  std::span<std::byte> to_;
};

} // namespace

Status send_checkpoint(collectives::Meeting& meeting, const engine::GenerationRecord& generation,
                       const CheckpointPieces& pieces, const TimeoutsConfig& timeouts,
                       const std::function<void()>& arrived) {
  std::latch all_tried{generation.lacking()};
  std::atomic<std::ptrdiff_t> waiting{generation.lacking()};
  const auto serve = [&](std::int32_t node) -> Status {
    const auto patience = meeting.patience(timeouts.collective);
    auto connection =
        meeting.connect(*parse_endpoint(generation.nodes[static_cast<std::size_t>(node)].data),
                        link(generation, node), timeouts.collective);
    auto sent = connection ? send_to(*connection, pieces, patience) : failure(connection.error());
    if (sent) {
      --waiting;
      arrived();
    }
    all_tried.arrive_and_wait();
    if (!sent || waiting > 0)
      return sent;
    std::byte go_on{};
    return net::write_all(*connection, one_byte(go_on), patience);
  };
  std::vector<std::future<Status>> sending;
  for (std::int32_t node = 0; node < std::ssize(generation.nodes); ++node)
    if (generation.nodes[static_cast<std::size_t>(node)].lacks_state)
      sending.push_back(std::async(std::launch::async, serve, node));
  for (auto& each : sending)
    TROUPE_TRY(each.get());
  return {};
}

Result<Checkpoint> fetch_checkpoint(collectives::Meeting& meeting, const engine::Seat& seat,
                                    const TimeoutsConfig& timeouts,
                                    const std::function<void(const std::string&)>& say) {
  TROUPE_TRY(auto connection, meeting.accept(link(seat.generation, seat.node), timeouts.quorum));
  const auto patience = meeting.patience(timeouts.collective);
  std::int64_t bytes = 0;
  TROUPE_TRY(net::read_all(connection, std::as_writable_bytes(std::span{&bytes, 1}), patience));
  if (bytes < 0)
    return fail(Errc::corrupt, "a checkpoint of {} bytes was announced", bytes);
  say(fmt::format("fetching the checkpoint ({})",
                  metrics::readable_bytes(static_cast<double>(bytes))));
  const auto size = static_cast<std::size_t>(bytes);
  // Not make_shared, which would fill it with zeros first.
  const std::shared_ptr<std::byte[]> storage{new std::byte[size]};
  TROUPE_TRY(Receiver(connection, patience, {storage.get(), size}).run(say));
  TROUPE_TRY(auto checkpoint, join_pieces(storage, bytes));
  std::byte word{};
  TROUPE_TRY(net::write_all(connection, one_byte(word), patience));
  TROUPE_TRY(net::read_all(connection, one_byte(word), meeting.patience(long_time)));
  return checkpoint;
}

} // namespace troupe::actors
