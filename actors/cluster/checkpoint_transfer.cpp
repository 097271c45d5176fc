#include "actors/cluster/checkpoint_transfer.hpp"

#include "actors/cluster/detail/checked_chunks.hpp"
#include "core/fail.hpp"
#include "core/net/peer_endpoint.hpp"
#include "metrics/readable.hpp"

#include <future>
#include <latch>
#include <vector>

namespace troupe::actors {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds between_lines{2};
/// For other nodes to get theirs: whether they live is seen elsewhere.
constexpr std::chrono::hours long_time{24};

collectives::LinkName link(const engine::GenerationRecord& generation, std::int32_t node) {
  return {.group = "checkpoint", .from = generation.source, .to = node};
}

std::span<std::byte> one_byte(std::byte& byte) {
  return {&byte, 1};
}

/// Until the node has said that it has all.
Status send_to(net::Connection& to, const CheckpointPieces& pieces, const net::Patience& patience) {
  const auto size = pieces.bytes();
  TROUPE_TRY(net::write_all(to, std::as_bytes(std::span{&size, 1}), patience));
  ChunkSender sender{to, patience};
  for (const auto& part : pieces.parts())
    TROUPE_TRY(sender.add(part));
  TROUPE_TRY(sender.finish());
  std::byte has_it{};
  return net::read_all(to, one_byte(has_it), patience);
}

/// Tells a person how much of a row of so many bytes is there, now and then.
class Progress {
public:
  Progress(std::size_t bytes, const std::function<void(const std::string&)>& say)
      : bytes_{bytes}, say_{say} {}

  void operator()(std::size_t arrived) {
    if (Clock::now() < said_ + between_lines)
      return;
    said_ = Clock::now();
    say_(fmt::format("fetching the checkpoint: {}%", arrived * 100 / bytes_));
  }

private:
  std::size_t bytes_;
  const std::function<void(const std::string&)>& say_;
  Clock::time_point said_ = Clock::now();
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
        meeting.connect(net::peer_endpoint(generation.nodes[static_cast<std::size_t>(node)].data),
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
  TROUPE_TRY(receive_chunks(connection, {storage.get(), size}, patience, Progress{size, say}));
  TROUPE_TRY(auto checkpoint, join_pieces(storage, bytes));
  std::byte word{};
  TROUPE_TRY(net::write_all(connection, one_byte(word), patience));
  TROUPE_TRY(net::read_all(connection, one_byte(word), meeting.patience(long_time)));
  return checkpoint;
}

} // namespace troupe::actors
