#include "collectives/tcp/detail/transport.hpp"

#include "collectives/detail/sums.hpp"
#include "core/fail.hpp"
#include "core/net/sigpipe.hpp"

#include <algorithm>
#include <array>

#include <poll.h>

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

Transport::Transport(TcpOptions options, std::shared_ptr<ConnectionGroup> connection_group)
    : options_{std::move(options)}, connection_group_{std::move(connection_group)},
      scratch_{std::make_unique_for_overwrite<std::byte[]>(piece_bytes)} {}

Transport::~Transport() = default;

/// Runs one flow on the calling thread, overlapping the reduction of one chunk with the transfer of
/// others.
class Transport::Run {
public:
  Run(Transport& transport, const Flow& flow, const FlowMemory& memory, DType type,
      std::uint64_t slot)
      : transport_{transport}, flow_{flow}, memory_{memory}, type_{type},
        sent_header_{slot, bytes_of(flow.first, flow.first.size()) +
                               bytes_of(flow.received, flow.forwarded)},
        expected_{slot, bytes_of(flow.received, flow.received.size())} {}
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  Status to_end() {
    const auto status = pass();
    if (status)
      return {};
    TROUPE_TRY(transport_.aborted());
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
      TROUPE_TRY(to_, transport_.sending_to(flow_.to));
    }
    if (!flow_.received.empty()) {
      peer_ = flow_.from, waits_for_ = "receive from";
      TROUPE_TRY(from_, transport_.receiving_from(flow_.from));
    }
    return {};
  }

  std::size_t to_send() const { return flow_.first.size() + flow_.forwarded; }
  std::size_t ready_to_send() const {
    return flow_.first.size() + std::min(taken_, flow_.forwarded);
  }
  const Piece& outgoing(std::size_t i) const {
    const auto first = flow_.first.size();
    return i < first ? flow_.first[i] : flow_.received[i - first];
  }
  bool summed(std::size_t i) const { return i < flow_.summed; }

  /// Returns whether any bytes moved.
  Result<bool> send() {
    if (sent_ == ready_to_send())
      return false;
    peer_ = flow_.to, waits_for_ = "send to";
    if (!headed_) {
      const auto header = std::as_bytes(std::span{&sent_header_, 1}).subspan(sent_bytes_);
      TROUPE_TRY(const auto count, to_->write(header, true));
      headed_ = count == header.size();
      sent_bytes_ = headed_ ? 0 : sent_bytes_ + count;
      return count > 0;
    }
    const auto& piece = outgoing(sent_);
    auto* const memory = sent_ < flow_.first.size() ? memory_.first : memory_.received;
    const std::span bytes{memory + piece.offset, piece.bytes};
    TROUPE_TRY(const auto count, to_->write(bytes.subspan(sent_bytes_)));
    sent_bytes_ += count;
    if (sent_bytes_ == piece.bytes)
      ++sent_, sent_bytes_ = 0;
    return count > 0;
  }

  Result<bool> receive() {
    if (taken_ == flow_.received.size())
      return false;
    peer_ = flow_.from, waits_for_ = "receive from";
    if (!met_)
      return read_header();
    const auto& piece = flow_.received[taken_];
    auto* const place =
        summed(taken_) ? transport_.scratch_.get() : memory_.received + piece.offset;
    TROUPE_TRY(const auto count,
               from_->read(std::span{place, piece.bytes}.subspan(received_bytes_)));
    received_bytes_ += count;
    if (received_bytes_ == piece.bytes)
      take(piece);
    return count > 0;
  }

  Result<bool> read_header() {
    const auto header = std::as_writable_bytes(std::span{&header_, 1});
    TROUPE_TRY(const auto count, from_->read(header.subspan(received_bytes_)));
    received_bytes_ += count;
    if (received_bytes_ < header.size())
      return count > 0;
    met_ = true, received_bytes_ = 0;
    if (header_.slot != expected_.slot || header_.bytes != expected_.bytes)
      return fail(Errc::collective, "it has made a different call");
    return true;
  }

  void take(const Piece& piece) {
    if (summed(taken_))
      collectives::add(type_, memory_.received + piece.offset, transport_.scratch_.get(),
                       piece.bytes / size_of(type_));
    ++taken_, received_bytes_ = 0;
  }

  Status wait() {
    std::array<pollfd, 3> waiting = {
        {{transport_.aborting_.number(), POLLIN, 0}, {-1, 0, 0}, {-1, 0, 0}}};
    if (taken_ < flow_.received.size())
      waiting[1] = {from_->number(), from_->read_events(), 0};
    if (sent_ < to_send())
      waiting[2] = {to_->number(), POLLRDHUP, 0};
    if (sent_ < ready_to_send())
      waiting[2].events |= to_->write_events();
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(
        last_ + transport_.options_.timeout - Clock::now());
    const int ready =
        ::poll(waiting.data(), waiting.size(), std::max(0, static_cast<int>(left.count())));
    if (waiting[0].revents != 0)
      return transport_.aborted();
    if (ready == 0)
      return fail(Errc::collective, "no data for {}", format_duration(transport_.options_.timeout));
    if ((waiting[2].revents & POLLRDHUP) != 0) {
      peer_ = flow_.to, waits_for_ = "send to";
      return fail(Errc::collective, "it has closed the connection");
    }
    return {};
  }

  Transport& transport_;
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
  TROUPE_TRY(aborted());
  if (flow.first.empty() && flow.received.empty())
    return {};
  const net::NoSigpipe no_sigpipe;
  auto status = Run{*this, flow, memory, type, slot}.to_end();
  if (!status)
    abort(status.error()); // no effect if already aborted
  return status;
}

Result<net::Connection*> Transport::sending_to(int rank) {
  if (const auto link = sending_.find(rank); link != sending_.end())
    return &link->second;
  return add(sending_, rank,
             connection_group_->connect(options_.endpoints[static_cast<std::size_t>(rank)],
                                        {options_.group, options_.rank, rank}, options_.timeout));
}

Result<net::Connection*> Transport::receiving_from(int rank) {
  if (const auto link = receiving_.find(rank); link != receiving_.end())
    return &link->second;
  return add(receiving_, rank,
             connection_group_->accept({options_.group, rank, options_.rank}, options_.timeout,
                                       stop_.get_token()));
}

Result<net::Connection*> Transport::add(Links& links, int rank, Result<net::Connection> link) {
  if (!link)
    return failure(link.error());
  const std::lock_guard lock{mutex_};
  if (aborted_)
    return failure(*aborted_);
  return &links.emplace(rank, std::move(*link)).first->second;
}

Status Transport::aborted() const {
  const std::lock_guard lock{mutex_};
  return aborted_ ? failure(*aborted_) : Status{};
}

void Transport::abort(const Error& reason) {
  {
    const std::lock_guard lock{mutex_};
    if (aborted_)
      return;
    aborted_ = reason;
    for (const auto* links : {&sending_, &receiving_})
      for (const auto& [rank, link] : *links)
        link.shut_down();
  }
  aborting_.signal();
  stop_.request_stop();
  connection_group_->look_again();
}

} // namespace troupe::collectives
