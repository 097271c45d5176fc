#include "actors/node/checkpoint_transfer.hpp"

#include "actors/inspect.hpp"
#include "actors/node/detail/checked_chunks.hpp"
#include "core/fail.hpp"
#include "core/net/peer_endpoint.hpp"
#include "metrics/number_format.hpp"

#include <caf/all.hpp>

#include <atomic>
#include <cstring>
#include <future>
#include <latch>
#include <tuple>

namespace troupe::actors {

namespace {

/// Sent before the values and after its own length.
struct Description {
  struct Tensor {
    std::string name;
    std::vector<std::int64_t> shape;

    auto fields() { return std::tie(name, shape); }
  };
  std::int64_t step = 0, epoch = 0;
  std::map<std::string, std::string> metadata;
  std::vector<Tensor> tensors;

  auto fields() { return std::tie(step, epoch, metadata, tensors); }
};

constexpr std::size_t length_bytes = 8;
constexpr std::size_t value_alignment = alignof(std::max_align_t);

/// Returns the description, preceded by its length and padded so that the values after it are
/// aligned.
std::string description_of(const Checkpoint& checkpoint) {
  Description description{.step = checkpoint.step,
                          .epoch = checkpoint.epoch,
                          .metadata = checkpoint.metadata,
                          .tensors = {}};
  for (const auto& tensor : checkpoint.tensors)
    description.tensors.push_back({tensor.name, tensor.shape.dims});
  caf::byte_buffer buffer;
  caf::binary_serializer sink{nullptr, buffer};
  [[maybe_unused]] const bool written = sink.apply(description);
  std::string text(length_bytes, '\0');
  text.append(reinterpret_cast<const char*>(buffer.data()), buffer.size());
  text.resize((text.size() + value_alignment - 1) / value_alignment * value_alignment);
  const std::uint64_t length = text.size() - length_bytes;
  std::memcpy(text.data(), &length, length_bytes);
  return text;
}

/// Adds the tensors. Checks that the values of all are present, and nothing else.
Status add_tensors(const Description& description, std::span<const std::byte> values,
                   Checkpoint& checkpoint) {
  const auto* next = reinterpret_cast<const float*>(values.data());
  std::size_t left = values.size() / sizeof(float);
  for (const auto& tensor : description.tensors) {
    const Shape shape{tensor.shape};
    const auto elements = static_cast<std::size_t>(shape.elements());
    if (elements > left)
      return fail(Errc::corrupt, "the received checkpoint ends in the middle of tensor {}",
                  tensor.name);
    checkpoint.tensors.push_back({tensor.name, shape, {next, elements}});
    next += elements;
    left -= elements;
  }
  if (left > 0)
    return fail(Errc::corrupt,
                "the received checkpoint is longer than its description, by {} values", left);
  return {};
}

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

/// Returns a function that logs from time to time how many of the bytes have arrived.
std::function<void(std::size_t)> progress(std::size_t bytes,
                                          const std::function<void(const std::string&)>& say) {
  return [bytes, &say, said = Clock::now()](std::size_t arrived) mutable {
    if (Clock::now() < said + between_lines)
      return;
    said = Clock::now();
    say(fmt::format("fetching the checkpoint: {}%", arrived * 100 / bytes));
  };
}

} // namespace

CheckpointChunks::CheckpointChunks(std::shared_ptr<const Checkpoint> checkpoint)
    : checkpoint_{std::move(checkpoint)}, description_{description_of(*checkpoint_)} {
  append(std::as_bytes(std::span{description_}));
  for (const auto& tensor : checkpoint_->tensors)
    append(std::as_bytes(tensor.values));
}

void CheckpointChunks::append(std::span<const std::byte> bytes) {
  parts_.push_back(bytes);
  bytes_ += std::ssize(bytes);
}

Result<Checkpoint> join_chunks(std::shared_ptr<const std::byte[]> bytes, std::int64_t size) {
  const std::span all{bytes.get(), static_cast<std::size_t>(size)};
  std::uint64_t length = 0;
  if (all.size() >= length_bytes)
    std::memcpy(&length, all.data(), length_bytes);
  if (all.size() < length_bytes || length > all.size() - length_bytes)
    return fail(Errc::corrupt, "the received checkpoint has no description");
  Description description;
  caf::binary_deserializer source{nullptr, all.data() + length_bytes, length};
  if (!source.apply(description))
    return fail(Errc::corrupt, "the received checkpoint has a damaged description");
  Checkpoint checkpoint{.step = description.step,
                        .epoch = description.epoch,
                        .metadata = std::move(description.metadata),
                        .tensors = {},
                        .storage = std::move(bytes)};
  TROUPE_TRY(add_tensors(description, all.subspan(length_bytes + length), checkpoint));
  return checkpoint;
}

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
  TROUPE_TRY(receive_chunks(connection, {storage.get(), size}, io_deadline, progress(size, say)));
  TROUPE_TRY(auto checkpoint, join_chunks(storage, bytes));
  std::byte word{};
  TROUPE_TRY(net::write_all(connection, one_byte(word), io_deadline));
  TROUPE_TRY(net::read_all(connection, one_byte(word), connection_group.io_deadline(long_time)));
  return checkpoint;
}

} // namespace troupe::actors
