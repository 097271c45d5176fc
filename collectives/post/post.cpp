#include "collectives/post/post.hpp"

#include "collectives/post/detail/route.hpp"
#include "core/fail.hpp"
#include "core/net/sigpipe.hpp"

#include <algorithm>

#include <poll.h>

namespace troupe::collectives {

namespace {

/// How often a connection that takes nothing is looked at.
constexpr std::chrono::milliseconds look_again{1000};

} // namespace

Post::Post(PostOptions options) : options_{std::move(options)} {}

Result<std::shared_ptr<Post>> Post::open(PostOptions options,
                                         const std::shared_ptr<Meeting>& meeting) {
  std::shared_ptr<Post> post{new Post{std::move(options)}};
  if (post->options_.endpoints.size() < 2)
    return post;
  TROUPE_TRY(post->connect(*meeting));
  post->thread_ = std::thread{[raw = post.get()] { raw->serve(); }};
  return post;
}

Post::~Post() {
  closing_ = true;
  changed_.signal();
  if (thread_.joinable())
    thread_.join();
}

/// Each connects to all others, and is then connected to.
Status Post::connect(Meeting& meeting) {
  const auto here = options_.process, all = static_cast<int>(options_.endpoints.size());
  std::map<int, net::Connection> out;
  for (int there = 0; there < all; ++there)
    if (there != here) {
      TROUPE_TRY(out[there],
                 meeting.connect(options_.endpoints[static_cast<std::size_t>(there)],
                                 {options_.group, here, there}, options_.connect_timeout));
    }
  for (auto& [there, connection] : out) {
    TROUPE_TRY(auto in, meeting.accept({options_.group, there, here}, options_.connect_timeout));
    routes_.push_back(std::make_unique<PostRoute>(there, std::move(connection), std::move(in)));
  }
  return {};
}

void Post::attend(int rank, Mailbox mailbox) {
  {
    const std::lock_guard lock{mutex_};
    for (const auto& mail : std::exchange(early_, {}))
      mail->to == rank ? mailbox.deliver(mail) : early_.push_back(mail);
    for (const auto& [process, why] : lost_)
      mailbox.lost(process, why);
    mailboxes_[rank] = std::move(mailbox);
  }
  changed_.signal();
}

void Post::leave(int rank) {
  const std::lock_guard lock{mutex_};
  mailboxes_[rank] = {};
}

bool Post::all_attend() const {
  const std::lock_guard lock{mutex_};
  return std::ranges::count(options_.process_of, options_.process) == std::ssize(mailboxes_);
}

void Post::send(Mail mail) {
  const auto process = options_.process_of[static_cast<std::size_t>(mail.to)];
  if (mail.from != mail.to) {
    const std::lock_guard lock{mutex_};
    auto& traffic = traffic_[mail.from];
    ++traffic.operations;
    traffic.bytes += mail.bytes;
  }
  if (process == options_.process)
    return deliver(std::make_shared<const Mail>(std::move(mail)));
  const auto route = std::ranges::find(routes_, process, &PostRoute::process);
  (*route)->post(std::move(mail));
  changed_.signal();
}

Traffic Post::traffic(int rank) const {
  const std::lock_guard lock{mutex_};
  const auto found = traffic_.find(rank);
  return found == traffic_.end() ? Traffic{} : found->second;
}

void Post::deliver(MailPtr mail) {
  const std::lock_guard lock{mutex_};
  const auto mailbox = mailboxes_.find(mail->to);
  if (mailbox == mailboxes_.end())
    early_.push_back(std::move(mail));
  else if (mailbox->second.deliver)
    mailbox->second.deliver(std::move(mail));
}

Result<BufferPtr> Post::memory_for(int rank, std::size_t bytes) {
  const std::lock_guard lock{mutex_};
  const auto mailbox = mailboxes_.find(rank);
  if (mailbox == mailboxes_.end() || !mailbox->second.memory)
    return fail(Errc::invalid_input, "there is a mail for rank {}, which is not here", rank);
  return bytes > 0 ? mailbox->second.memory(bytes) : BufferPtr{};
}

void Post::serve() {
  const net::NoSigpipe no_sigpipe;
  while (!closing_) {
    await();
    changed_.clear();
    move_mail();
  }
}

void Post::await() const {
  std::vector<pollfd> waiting = {{changed_.number(), POLLIN, 0}};
  const bool reads = all_attend();
  bool writes = false;
  for (const auto& route : routes_) {
    if (route->lost)
      continue;
    if (reads)
      waiting.push_back({route->in().number(), route->in().read_events(), 0});
    if (!route->has_mail())
      continue;
    writes = true;
    waiting.push_back({route->out().number(), route->out().write_events(), 0});
  }
  ::poll(waiting.data(), waiting.size(), writes ? static_cast<int>(look_again.count()) : -1);
}

void Post::move_mail() {
  const bool reads = all_attend();
  for (const auto& route : routes_) {
    if (route->lost)
      continue;
    if (const auto written = route->write(options_.timeout); !written)
      lose(*route, written.error());
    while (reads && !route->lost) {
      auto mail =
          route->read([this](int rank, std::size_t bytes) { return memory_for(rank, bytes); },
                      options_.most_bytes);
      if (!mail)
        lose(*route, mail.error());
      else if (*mail)
        deliver(*std::move(mail));
      else
        break;
    }
  }
}

void Post::lose(PostRoute& route, const Error& why) {
  route.lost = true;
  route.out().shut_down();
  route.in().shut_down();
  const std::lock_guard lock{mutex_};
  lost_.emplace_back(route.process(), why);
  for (const auto& [rank, mailbox] : mailboxes_)
    if (mailbox.lost)
      mailbox.lost(route.process(), why);
}

} // namespace troupe::collectives
