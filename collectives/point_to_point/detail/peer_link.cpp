#include "collectives/point_to_point/detail/peer_link.hpp"

#include "core/fail.hpp"
#include "core/units.hpp"

#include <span>

namespace troupe::collectives {

void PeerLink::enqueue(Message message) {
  const std::lock_guard lock{mutex_};
  if (outgoing_.empty())
    moved_ = Clock::now();
  outgoing_.push_back(std::move(message));
}

bool PeerLink::has_message() const {
  const std::lock_guard lock{mutex_};
  return !outgoing_.empty();
}

Status PeerLink::write(std::chrono::milliseconds timeout) {
  while (has_message()) {
    TROUPE_TRY(const auto count, write_some());
    const std::lock_guard lock{mutex_};
    if (count > 0)
      moved_ = Clock::now();
    else if (Clock::now() - moved_ > timeout)
      return fail(Errc::network, "{} has accepted no data for {}", out_.name(),
                  format_duration(timeout));
    else
      return {};
  }
  return {};
}

/// Writes bytes of the first message; only the writing thread reads or removes it.
Result<std::size_t> PeerLink::write_some() {
  Message* message = nullptr;
  {
    const std::lock_guard lock{mutex_};
    message = &outgoing_.front();
  }
  if (sent_ == 0)
    sent_header_ = {message->from, message->to, message->header, message->bytes};
  const auto header = std::as_bytes(std::span{&sent_header_, 1});
  const auto rest =
      sent_ < header.size()
          ? header.subspan(sent_)
          : std::span<const std::byte>{message->values->data(), message->bytes}.subspan(
                sent_ - header.size());
  TROUPE_TRY(const auto count,
             out_.write(rest, /*more=*/sent_ < header.size() && message->bytes > 0));
  sent_ += count;
  if (sent_ == header.size() + message->bytes) {
    sent_ = 0;
    const std::lock_guard lock{mutex_};
    outgoing_.pop_front();
  }
  return count;
}

Result<MessagePtr> PeerLink::read(const Memory& memory, std::size_t most_bytes) {
  while (true) {
    const auto header = std::as_writable_bytes(std::span{&coming_, 1});
    const bool heads = !incoming_;
    const auto to = heads ? header : std::span{incoming_->values->data(), incoming_->bytes};
    TROUPE_TRY(const auto count, in_.read(to.subspan(received_)));
    if (count == 0)
      return MessagePtr{};
    received_ += count;
    if (received_ < to.size())
      continue;
    received_ = 0;
    if (heads) {
      if (coming_.bytes > most_bytes)
        return fail(Errc::invalid_input,
                    "{} sends a message of {} bytes, but the limit is {} bytes", in_.name(),
                    coming_.bytes, most_bytes);
      incoming_ =
          std::make_shared<Message>(Message{coming_.from, coming_.to, coming_.header, nullptr,
                                            static_cast<std::size_t>(coming_.bytes)});
      TROUPE_TRY(incoming_->values, memory(coming_.to, incoming_->bytes));
      if (incoming_->bytes > 0)
        continue;
    }
    return MessagePtr{std::exchange(incoming_, nullptr)};
  }
}

} // namespace troupe::collectives
