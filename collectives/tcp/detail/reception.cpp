#include "reception.hpp"

#include <algorithm>
#include <csignal>
#include <vector>

#include <openssl/crypto.h>
#include <poll.h>
#include <sys/socket.h>

namespace troupe::collectives {

namespace {

constexpr int most_in_queue = 1024; ///< that are not accepted yet
constexpr std::size_t most_guests = 256, most_admitted = 4096;
constexpr std::chrono::milliseconds pause{50};
/// For somebody here to ask for who has said hello: more than any group waits for its ranks.
constexpr std::chrono::minutes longest_wait{30};

} // namespace

Reception::Reception(net::Listener listener, net::TlsContext tls,
                     std::chrono::milliseconds patience)
    : listener_{std::move(listener.socket)}, port_{listener.port}, tls_{std::move(tls)},
      patience_{patience} {
  ::listen(listener_.number(), most_in_queue);
  thread_ = std::thread{[this] { serve(); }};
}

Reception::~Reception() {
  closed_ = true;
  closing_.signal();
  thread_.join();
}

void Reception::serve() {
  // Signals are for the thread that ends the process; SIGPIPE is OpenSSL's way to say closed.
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
  while (!closed_) {
    await();
    accept();
    listen_to_guests();
  }
}

/// For somebody new, a word, or the end of somebody's time.
void Reception::await() {
  std::vector<pollfd> waiting = {{closing_.number(), POLLIN, 0},
                                 {full_ ? -1 : listener_.number(), POLLIN, 0}};
  auto latest = Clock::now() + (full_ ? pause : std::chrono::hours{1});
  for (const auto& guest : guests_) {
    waiting.push_back({guest.connection.number(), guest.connection.read_events(), 0});
    latest = std::min(latest, guest.latest);
  }
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(latest - Clock::now());
  ::poll(waiting.data(), waiting.size(), std::max(0, static_cast<int>(left.count())));
}

void Reception::accept() {
  full_ = false;
  while (true) {
    net::Descriptor socket{::accept4(listener_.number(), nullptr, nullptr, SOCK_CLOEXEC)};
    if (!socket) {
      full_ = errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR && errno != ECONNABORTED;
      return;
    }
    if (guests_.size() == most_guests)
      guests_.pop_front();
    guests_.push_back(
        {{std::move(socket), tls(), net::Side::accepts, "a process that has connected"},
         Clock::now() + patience_});
  }
}

void Reception::listen_to_guests() {
  for (auto guest = guests_.begin(); guest != guests_.end();) {
    const auto next = std::next(guest);
    const bool stays = listen_to(*guest);
    if (guest->said == guest->hello.size())
      admit(std::move(*guest));
    if (!stays)
      guests_.erase(guest);
    guest = next;
  }
}

/// Whether there is more to hear.
bool Reception::listen_to(Guest& guest) const {
  const auto count = guest.connection.read(std::span{guest.hello}.subspan(guest.said));
  if (!count)
    return false;
  guest.said += *count;
  return guest.said < guest.hello.size() && Clock::now() < guest.latest;
}

void Reception::admit(Guest&& guest) {
  const std::lock_guard lock{mutex_};
  const auto now = Clock::now();
  while (!admitted_.empty() &&
         (admitted_.front().latest < now || admitted_.size() == most_admitted))
    admitted_.pop_front();
  guest.latest = now + longest_wait;
  admitted_.push_back(std::move(guest));
  changed_.notify_all();
}

std::optional<net::Connection> Reception::take(const Hello& hello,
                                               std::chrono::steady_clock::time_point end,
                                               const std::function<bool()>& cancelled) {
  std::unique_lock lock{mutex_};
  auto found = admitted_.end();
  changed_.wait_until(lock, end, [&] {
    found = std::ranges::find_if(admitted_, [&](const Guest& guest) {
      // In a time that does not tell how much of it was right.
      return CRYPTO_memcmp(guest.hello.data(), hello.data(), hello.size()) == 0;
    });
    return found != admitted_.end() || cancelled();
  });
  if (found == admitted_.end())
    return std::nullopt;
  auto connection = std::move(found->connection);
  admitted_.erase(found);
  return connection;
}

void Reception::look_again() {
  const std::lock_guard lock{mutex_};
  changed_.notify_all();
}

} // namespace troupe::collectives
