#include "actors/node/checkpoint_transfer.hpp"

#include "actors/node/detail/checked_chunks.hpp"
#include "core/fail.hpp"
#include "core/net/peer_endpoint.hpp"
#include "metrics/number_format.hpp"

#include <atomic>
#include <future>
#include <latch>
#include <vector>

namespace troupe::actors {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds between_lines{2};
/// Until other nodes have the state. Their loss is noticed elsewhere.
constexpr std::chrono::hours long_time{24};

collectives::LinkName link(const training::GenerationRecord& generation, std::int32_t node) {
  return {.group = "checkpoint", .from = generation.source, .to = node};
}

std::span<std::byte> one_byte(std::byte& byte) {
  return {&byte, 1};
}

/// Returns when the node has confirmed that it has all.
Status send_to(net::Connection& to, const CheckpointChunks& chunks,
               const net::IoDeadline& io_deadline) {
  const auto size = chunks.bytes();
  TROUPE_TRY(net::write_all(to, std::as_bytes(std::span{&size, 1}), io_deadline));
  ChunkSender sender{to, io_deadline};
  for (const auto& part : chunks.parts())
    TROUPE_TRY(sender.add(part));
  TROUPE_TRY(sender.finish());
  std::byte has_it{};
  return net::read_all(to, one_byte(has_it), io_deadline);
}

/// Logs from time to time how many of the bytes have arrived.
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

Status send_checkpoint(collectives::ConnectionGroup& connection_group,
                       const training::GenerationRecord& generation, const CheckpointChunks& chunks,
                       const TimeoutsConfig& timeouts, const std::function<void()>& arrived) {
  std::latch all_tried{generation.lacking()};
  std::atomic<std::ptrdiff_t> waiting{generation.lacking()};
  const auto serve = [&](std::int32_t node) -> Status {
    const auto io_deadline = connection_group.io_deadline(timeouts.collective);
    auto connection = connection_group.connect(
        net::peer_endpoint(generation.nodes[static_cast<std::size_t>(node)].data),
        link(generation, node), timeouts.collective);
    auto sent =
        connection ? send_to(*connection, chunks, io_deadline) : failure(connection.error());
    if (sent) {
      --waiting;
      arrived();
    }
    all_tried.arrive_and_wait();
    if (!sent || waiting > 0)
      return sent;
    std::byte go_on{};
    return net::write_all(*connection, one_byte(go_on), io_deadline);
  };
  std::vector<std::future<Status>> sending;
  for (std::int32_t node = 0; node < std::ssize(generation.nodes); ++node)
    if (generation.nodes[static_cast<std::size_t>(node)].lacks_state)
      sending.push_back(std::async(std::launch::async, serve, node));
  for (auto& each : sending)
    TROUPE_TRY(each.get());
  return {};
}

Result<Checkpoint> fetch_checkpoint(collectives::ConnectionGroup& connection_group,
                                    const training::NodeAssignment& assignment,
                                    const TimeoutsConfig& timeouts,
                                    const std::function<void(const std::string&)>& say) {
  TROUPE_TRY(auto connection, connection_group.accept(link(assignment.generation, assignment.node),
                                                      timeouts.quorum));
  const auto io_deadline = connection_group.io_deadline(timeouts.collective);
  std::int64_t bytes = 0;
  TROUPE_TRY(net::read_all(connection, std::as_writable_bytes(std::span{&bytes, 1}), io_deadline));
  if (bytes < 0)
    return fail(Errc::corrupt, "received an invalid checkpoint size: {} bytes", bytes);
  say(fmt::format("fetching the checkpoint ({})",
                  metrics::format_bytes(static_cast<double>(bytes))));
  const auto size = static_cast<std::size_t>(bytes);
  // Not make_shared, which would zero it first.
  const std::shared_ptr<std::byte[]> storage{new std::byte[size]};
  TROUPE_TRY(receive_chunks(connection, {storage.get(), size}, io_deadline, Progress{size, say}));
  TROUPE_TRY(auto checkpoint, join_chunks(storage, bytes));
  std::byte word{};
  TROUPE_TRY(net::write_all(connection, one_byte(word), io_deadline));
  TROUPE_TRY(net::read_all(connection, one_byte(word), connection_group.io_deadline(long_time)));
  return checkpoint;
}

} // namespace troupe::actors
