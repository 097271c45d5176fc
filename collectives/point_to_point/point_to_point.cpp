#include "collectives/point_to_point/point_to_point.hpp"

#include "collectives/point_to_point/detail/peer_link.hpp"
#include "core/fail.hpp"
#include "core/net/sigpipe.hpp"
#include "core/net/wait.hpp"

#include <algorithm>

namespace troupe::collectives {

namespace {

/// How often to check a connection that takes nothing.
constexpr std::chrono::milliseconds look_again{1000};

} // namespace

PointToPoint::PointToPoint(PointToPointOptions options,
                           std::shared_ptr<ConnectionGroup> connection_group)
    : process_of_{std::move(options.process_of)}, most_bytes_{options.most_bytes},
      channel_{std::move(options.channel), std::move(connection_group)} {}

Result<std::shared_ptr<PointToPoint>>
PointToPoint::open(PointToPointOptions options,
                   const std::shared_ptr<ConnectionGroup>& connection_group) {
  options.channel.noun = "node";
  std::shared_ptr<PointToPoint> point_to_point{
      new PointToPoint{std::move(options), connection_group}};
  if (point_to_point->channel_.options().size() < 2)
    return point_to_point;
  TROUPE_TRY(point_to_point->connect());
  point_to_point->thread_ = std::thread{[raw = point_to_point.get()] { raw->serve(); }};
  return point_to_point;
}

PointToPoint::~PointToPoint() {
  closing_ = true;
  changed_.signal();
  if (thread_.joinable())
    thread_.join();
}

/// Each process connects to all others, then accepts their connections.
Status PointToPoint::connect() {
  std::map<int, net::Connection*> out;
  for (int there = 0; there < channel_.options().size(); ++there)
    if (there != channel_.options().member) {
      TROUPE_TRY(out[there], channel_.to(there));
    }
  for (auto& [there, connection] : out) {
    TROUPE_TRY(auto* const in, channel_.from(there));
    links_.push_back(std::make_unique<PeerLink>(there, *connection, *in));
  }
  channel_.connected();
  return {};
}

void PointToPoint::subscribe(int rank, Mailbox mailbox) {
  {
    const std::lock_guard lock{mutex_};
    for (const auto& message : std::exchange(early_, {}))
      message->to == rank ? mailbox.deliver(message) : early_.push_back(message);
    for (const auto& [process, why] : lost_)
      mailbox.lost(process, why);
    mailboxes_[rank] = std::move(mailbox);
  }
  changed_.signal();
}

bool PointToPoint::all_subscribed() const {
  const std::lock_guard lock{mutex_};
  return std::ranges::count(process_of_, channel_.options().member) == std::ssize(mailboxes_);
}

void PointToPoint::send(Message message) {
  const auto process = process_of_[static_cast<std::size_t>(message.to)];
  if (process == channel_.options().member)
    return deliver(std::make_shared<const Message>(std::move(message)));
  const auto link = std::ranges::find(links_, process, &PeerLink::process);
  (*link)->enqueue(std::move(message));
  changed_.signal();
}

void PointToPoint::deliver(MessagePtr message) {
  const std::lock_guard lock{mutex_};
  const auto mailbox = mailboxes_.find(message->to);
  if (mailbox == mailboxes_.end())
    early_.push_back(std::move(message));
  else
    mailbox->second.deliver(std::move(message));
}

Result<BufferPtr> PointToPoint::memory_for(int rank, std::size_t bytes) {
  const std::lock_guard lock{mutex_};
  const auto mailbox = mailboxes_.find(rank);
  if (mailbox == mailboxes_.end())
    return fail(Errc::invalid_input,
                "received a message for rank {}, which does not run on this node", rank);
  return bytes > 0 ? mailbox->second.memory(bytes) : BufferPtr{};
}

void PointToPoint::serve() {
  const net::NoSigpipe no_sigpipe;
  while (!closing_) {
    await();
    changed_.clear();
    move_messages();
  }
}

void PointToPoint::await() const {
  std::vector<pollfd> waiting = {{changed_.number(), POLLIN, 0}};
  const bool reads = all_subscribed();
  bool writes = false;
  for (const auto& link : links_) {
    if (link->lost)
      continue;
    if (reads)
      waiting.push_back({link->in().number(), link->in().read_events(), 0});
    if (!link->has_message())
      continue;
    writes = true;
    waiting.push_back({link->out().number(), link->out().write_events(), 0});
  }
  const auto now = std::chrono::steady_clock::now();
  net::wait_until(waiting, now + (writes ? look_again : std::chrono::hours{1}));
}

void PointToPoint::move_messages() {
  const bool reads = all_subscribed();
  for (const auto& link : links_) {
    if (link->lost)
      continue;
    if (const auto written = link->write(channel_.timeout()); !written)
      lose(*link, written.error());
    while (reads && !link->lost) {
      auto message = link->read(
          [this](int rank, std::size_t bytes) { return memory_for(rank, bytes); }, most_bytes_);
      if (!message)
        lose(*link, message.error());
      else if (*message)
        deliver(*std::move(message));
      else
        break;
    }
  }
}

void PointToPoint::lose(PeerLink& link, const Error& why) {
  link.lost = true;
  link.out().shut_down();
  link.in().shut_down();
  auto error = why;
  error.message = fmt::format("node {}: {}", link.process(), why.message);
  const std::lock_guard lock{mutex_};
  for (const auto& [rank, mailbox] : mailboxes_)
    mailbox.lost(link.process(), error);
  lost_.emplace_back(link.process(), std::move(error));
}

} // namespace troupe::collectives
