#include "collectives/post/detail/route.hpp"

#include "core/fail.hpp"
#include "core/units.hpp"

#include <span>

namespace troupe::collectives {

void PostRoute::post(Mail mail) {
  const std::lock_guard lock{mutex_};
  if (outgoing_.empty())
    moved_ = Clock::now();
  outgoing_.push_back(std::move(mail));
}

bool PostRoute::has_mail() const {
  const std::lock_guard lock{mutex_};
  return !outgoing_.empty();
}

Status PostRoute::write(std::chrono::milliseconds timeout) {
  while (has_mail()) {
    TROUPE_TRY(const auto count, write_some());
    const std::lock_guard lock{mutex_};
    if (count > 0)
      moved_ = Clock::now();
    else if (Clock::now() - moved_ > timeout)
      return fail(Errc::network, "{} takes nothing for {}", out_.name(), format_duration(timeout));
    else
      return {};
  }
  return {};
}

/// Of the first mail, which nobody else touches.
Result<std::size_t> PostRoute::write_some() {
  Mail* mail = nullptr;
  {
    const std::lock_guard lock{mutex_};
    mail = &outgoing_.front();
  }
  if (sent_ == 0)
    sent_heading_ = {mail->from, mail->to, mail->heading, mail->bytes};
  const auto heading = std::as_bytes(std::span{&sent_heading_, 1});
  const bool heads = sent_ < heading.size();
  const auto values = mail->bytes > 0
                          ? std::span<const std::byte>{mail->values->data(), mail->bytes}
                          : std::span<const std::byte>{};
  TROUPE_TRY(const auto count, heads ? out_.write(heading.subspan(sent_), mail->bytes > 0)
                                     : out_.write(values.subspan(sent_ - heading.size())));
  sent_ += count;
  if (sent_ == heading.size() + mail->bytes) {
    sent_ = 0;
    const std::lock_guard lock{mutex_};
    outgoing_.pop_front();
  }
  return count;
}

Result<MailPtr> PostRoute::read(const Memory& memory, std::size_t most_bytes) {
  while (true) {
    const auto heading = std::as_writable_bytes(std::span{&coming_, 1});
    const bool heads = !incoming_;
    const auto to = heads ? heading : std::span{incoming_->values->data(), incoming_->bytes};
    TROUPE_TRY(const auto count, in_.read(to.subspan(received_)));
    if (count == 0)
      return MailPtr{};
    received_ += count;
    if (received_ < to.size())
      continue;
    received_ = 0;
    if (heads) {
      if (coming_.bytes > most_bytes)
        return fail(Errc::invalid_input, "{} has a mail of {} bytes, more than the {} of any here",
                    in_.name(), coming_.bytes, most_bytes);
      incoming_ = std::make_shared<Mail>(Mail{coming_.from, coming_.to, coming_.heading, nullptr,
                                              static_cast<std::size_t>(coming_.bytes)});
      TROUPE_TRY(incoming_->values, memory(coming_.to, incoming_->bytes));
      if (incoming_->bytes > 0)
        continue;
    }
    return MailPtr{std::exchange(incoming_, nullptr)};
  }
}

} // namespace troupe::collectives
