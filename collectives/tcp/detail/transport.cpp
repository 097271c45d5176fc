#include "collectives/tcp/detail/transport.hpp"

#include "collectives/detail/sums.hpp"
#include "core/fail.hpp"
#include "core/net/sigpipe.hpp"
#include "core/net/wait.hpp"

#include <algorithm>
#include <array>
#include <span>

namespace troupe::collectives {

namespace {

using Clock = std::chrono::steady_clock;

/// Sent before a flow's chunks.
struct Heading {
  std::uint64_t slot = 0, bytes = 0;
};

std::uint64_t bytes_of(const std::vector<Piece>& pieces, std::size_t count) {
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < count; ++i)
    bytes += pieces[i].bytes;
  return bytes;
}

} // namespace

Transport::Transport(ChannelOptions options, std::shared_ptr<ConnectionGroup> connection_group)
    : channel_{std::move(options), std::move(connection_group)},
      scratch_{std::make_unique_for_overwrite<std::byte[]>(piece_bytes)} {}

/// Runs one flow on the calling thread, overlapping the reduction of one chunk with the transfer of
/// others.
class Transport::Run {
public:
  Run(Transport& transport, const Flow& flow, const FlowMemory& memory, DType type,
      std::uint64_t slot)
      : channel_{transport.channel_}, scratch_{transport.scratch_.get()}, flow_{flow},
        memory_{memory}, type_{type}, sent_header_{slot,
                                                   bytes_of(flow.first, flow.first.size()) +
                                                       bytes_of(flow.received, flow.forwarded)},
        expected_{slot, bytes_of(flow.received, flow.received.size())} {}
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  Status to_end() {
    const auto status = pass();
    if (status)
      return {};
    TROUPE_TRY(channel_.aborted().status());
    return fail(Errc::collective, "cannot {} rank {}: {}", waits_for_, peer_,
                status.error().message);
  }

private:
  Status pass() {
    TROUPE_TRY(connect());
    while (taken_ < flow_.received.size() || sent_ < to_send()) {
      TROUPE_TRY(const bool received, receive());
      TROUPE_TRY(const bool sent, send());
      if (received || sent)
        last_ = Clock::now();
      else
        TROUPE_TRY(wait());
    }
    return {};
  }

  Status connect() {
    if (to_send() > 0) {
      peer_ = flow_.to, waits_for_ = "send to";
      TROUPE_TRY(to_, channel_.to(flow_.to));
    }
    if (!flow_.received.empty()) {
      peer_ = flow_.from, waits_for_ = "receive from";
      TROUPE_TRY(from_, channel_.from(flow_.from));
    }
    return {};
  }

  std::size_t to_send() const { return flow_.first.size() + flow_.forwarded; }
  std::size_t ready_to_send() const {
    return flow_.first.size() + std::min(taken_, flow_.forwarded);
  }
  bool summed(std::size_t i) const { return i < flow_.summed; }

  /// Returns whether any bytes moved.
  Result<bool> send() {
    if (sent_ == ready_to_send())
      return false;
    peer_ = flow_.to, waits_for_ = "send to";
    const auto from = headed_ ? bytes_to_send() : std::as_bytes(std::span{&sent_header_, 1});
    TROUPE_TRY(const auto count, to_->write(from.subspan(sent_bytes_), /*more=*/!headed_));
    sent_bytes_ += count;
    if (sent_bytes_ == from.size()) {
      sent_ += headed_ ? 1 : 0;
      headed_ = true, sent_bytes_ = 0;
    }
    return count > 0;
  }

  std::span<const std::byte> bytes_to_send() const {
    const auto first = flow_.first.size();
    const auto& piece = sent_ < first ? flow_.first[sent_] : flow_.received[sent_ - first];
    auto* const memory = sent_ < first ? memory_.first : memory_.received;
    return {memory + piece.offset, piece.bytes};
  }

  Result<bool> receive() {
    if (taken_ == flow_.received.size())
      return false;
    peer_ = flow_.from, waits_for_ = "receive from";
    const auto to = met_ ? place_of_next() : std::as_writable_bytes(std::span{&header_, 1});
    TROUPE_TRY(const auto count, from_->read(to.subspan(received_bytes_)));
    received_bytes_ += count;
    if (received_bytes_ == to.size()) {
      received_bytes_ = 0;
      TROUPE_TRY(met_ ? take() : check_header());
    }
    return count > 0;
  }

  std::span<std::byte> place_of_next() const {
    const auto& piece = flow_.received[taken_];
    return {summed(taken_) ? scratch_ : memory_.received + piece.offset, piece.bytes};
  }

  Status check_header() {
    met_ = true;
    if (header_.slot != expected_.slot || header_.bytes != expected_.bytes)
      return fail(Errc::collective, "it has made a different call");
    return {};
  }

  Status take() {
    const auto& piece = flow_.received[taken_];
    if (summed(taken_))
      collectives::add(type_, memory_.received + piece.offset, scratch_,
                       piece.bytes / size_of(type_));
    ++taken_;
    return {};
  }

  Status wait() {
    std::array<pollfd, 3> waiting = {
        {{channel_.aborted().signal().number(), POLLIN, 0}, {-1, 0, 0}, {-1, 0, 0}}};
    if (taken_ < flow_.received.size())
      waiting[1] = {from_->number(), from_->read_events(), 0};
    if (sent_ < to_send())
      waiting[2] = {to_->number(), POLLRDHUP, 0};
    if (sent_ < ready_to_send())
      waiting[2].events |= to_->write_events();
    if (!net::wait_until(waiting, last_ + channel_.timeout()))
      return fail(Errc::collective, "no data for {}", format_duration(channel_.timeout()));
    if (waiting[0].revents != 0)
      return channel_.aborted().status();
    if ((waiting[2].revents & POLLRDHUP) != 0) {
      peer_ = flow_.to, waits_for_ = "send to";
      return fail(Errc::collective, "it has closed the connection");
    }
    return {};
  }

  Channel& channel_;
  std::byte* scratch_;
  const Flow& flow_;
  FlowMemory memory_;
  DType type_;
  Heading sent_header_, expected_, header_ = {};
  net::Connection *to_ = nullptr, *from_ = nullptr;
  bool headed_ = false, met_ = false;               ///< the headers are sent, and received
  std::size_t sent_ = 0, taken_ = 0;                ///< chunks
  std::size_t sent_bytes_ = 0, received_bytes_ = 0; ///< of the next header or chunk
  int peer_ = -1;                                   ///< the rank that it waits for, and how
  std::string_view waits_for_ = "receive from";
  Clock::time_point last_ = Clock::now(); ///< when bytes last moved
};

Status Transport::run(const Flow& flow, const FlowMemory& memory, DType type, std::uint64_t slot) {
  const std::lock_guard lock{running_};
  TROUPE_TRY(channel_.aborted().status());
  if (flow.first.empty() && flow.received.empty())
    return {};
  const net::NoSigpipe no_sigpipe;
  auto status = Run{*this, flow, memory, type, slot}.to_end();
  if (!status)
    channel_.abort(status.error()); // no effect if already aborted
  return status;
}

} // namespace troupe::collectives
