#include "collectives/tcp/detail/reception.hpp"

#include "core/net/sigpipe.hpp"

#include <algorithm>
#include <csignal>
#include <map>
#include <tuple>
#include <vector>

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>

namespace troupe::collectives {

namespace {

constexpr int most_in_queue = 1024; ///< that are not accepted yet
constexpr std::size_t most_guests = 256, most_early = 256, most_admitted = 4096, most_probed = 64;
constexpr std::chrono::milliseconds pause{20};
/// Which everybody has for a hello, however many others come: with TLS it takes a few round trips,
/// and the time of a processor that is busy with others' handshakes.
constexpr std::chrono::milliseconds fair_time{1000};
/// For somebody here to ask for who has said hello: more than any group waits for its ranks.
constexpr std::chrono::minutes longest_wait{30};

std::string host_of(const sockaddr_storage& address, socklen_t size) {
  std::array<char, NI_MAXHOST> host{};
  ::getnameinfo(reinterpret_cast<const sockaddr*>(&address), size, host.data(), host.size(),
                nullptr, 0, NI_NUMERICHOST);
  return host.data();
}

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
  auto latest = std::min(forget_early(), Clock::now() + (full_ ? pause : std::chrono::hours{1}));
  for (const auto& guest : guests_) {
    waiting.push_back({guest.connection.number(), guest.connection.read_events(), 0});
    latest = std::min(latest, guest.latest);
  }
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(latest - Clock::now());
  ::poll(waiting.data(), waiting.size(), std::max(0, static_cast<int>(left.count())));
  auto polled = waiting.begin() + 2;
  for (auto& guest : guests_)
    guest.ready = (polled++)->revents != 0;
}

void Reception::accept() {
  full_ = false;
  while (true) {
    full_ = !has_room();
    if (full_)
      return;
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    net::Descriptor socket{
        ::accept4(listener_.number(), reinterpret_cast<sockaddr*>(&address), &size, SOCK_CLOEXEC)};
    if (!socket) {
      full_ = errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR && errno != ECONNABORTED;
      return;
    }
    make_room(guests_, most_guests);
    const auto now = Clock::now();
    guests_.push_back(
        {{std::move(socket), tls(), net::Side::accepts, "a process that has connected"},
         host_of(address, size),
         now,
         now + patience_});
  }
}

void Reception::listen_to_guests() {
  for (auto guest = guests_.begin(); guest != guests_.end();) {
    const auto next = std::next(guest);
    const bool stays = listen_to(*guest);
    if (guest->said == sizeof guest->hello)
      admit(std::move(*guest));
    if (!stays)
      guests_.erase(guest);
    guest = next;
  }
}

/// Whether there is more to hear.
bool Reception::listen_to(Guest& guest) const {
  if (!guest.ready)
    return Clock::now() < guest.latest;
  const auto hello = std::as_writable_bytes(std::span{&guest.hello, 1});
  const auto count = guest.connection.read(hello.subspan(guest.said));
  if (!count)
    return false;
  guest.said += *count;
  return guest.said < hello.size() && Clock::now() < guest.latest;
}

void Reception::admit(Guest&& guest) {
  const std::lock_guard lock{mutex_};
  if (is_answered(guest))
    return;
  const bool expected = is_expected(guest);
  if (expected && !is_new(guest))
    return;
  auto& guests = expected ? admitted_ : early_;
  std::erase_if(guests, [now = Clock::now()](const Guest& old) { return old.latest < now; });
  make_room(guests, expected ? most_admitted : most_early);
  guest.latest = Clock::now() + (expected ? Clock::duration{longest_wait} : patience_);
  guests.push_back(std::move(guest));
  changed_.notify_all();
}

bool Reception::is_expected(const Guest& guest) const {
  return is_sealed(guest.hello, key_);
}

/// Whether it is a probe. The answer fits into a connection that nothing was written to yet.
bool Reception::is_answered(Guest& guest) const {
  const auto asked = std::ranges::find_if(probed_, [&](const Probed& probed) {
    return guest.hello.link == probed.link && Clock::now() < probed.until &&
           is_sealed(guest.hello, probed.key);
  });
  if (asked == probed_.end())
    return false;
  std::ignore = guest.connection.write(probe_answer(guest.hello, asked->key));
  return true;
}

void Reception::answer(const GenerationKey& key, const Proof& link,
                       std::chrono::steady_clock::time_point until) {
  const net::NoSigpipe no_sigpipe;
  const std::lock_guard lock{mutex_};
  std::erase_if(probed_, [now = Clock::now()](const Probed& old) { return old.until <= now; });
  if (probed_.size() == most_probed)
    probed_.pop_front();
  probed_.push_back({key, link, until});
  std::erase_if(early_, [this](Guest& guest) { return is_answered(guest); });
}

/// False for a copy of a hello that has been admitted.
bool Reception::is_new(const Guest& guest) {
  return used_.insert(guest.hello.nonce).second;
}

void Reception::expect(const GenerationKey& key) {
  const std::lock_guard lock{mutex_};
  if (key == key_)
    return;
  key_ = key;
  used_.clear();
  admitted_.clear();
  for (auto guest = early_.begin(); guest != early_.end();) {
    const auto early = guest++;
    if (!is_expected(*early))
      continue;
    if (!is_new(*early)) {
      early_.erase(early);
      continue;
    }
    early->latest = Clock::now() + longest_wait;
    admitted_.splice(admitted_.end(), early_, early);
  }
}

/// Those who were not expected in time; when it is time to look again.
Reception::Clock::time_point Reception::forget_early() {
  const std::lock_guard lock{mutex_};
  std::erase_if(early_, [now = Clock::now()](const Guest& guest) { return guest.latest < now; });
  return early_.empty() ? Clock::time_point::max() : early_.front().latest;
}

Reception::Guests::iterator Reception::first_to_go(Guests& guests) {
  std::map<std::string_view, std::size_t> sent;
  for (const auto& guest : guests)
    ++sent[guest.from];
  const auto by_count = [](const auto& a, const auto& b) { return a.second < b.second; };
  const auto whose = std::ranges::max_element(sent, by_count)->first;
  return std::ranges::find(guests, whose, &Guest::from);
}

/// Or whoever would have to go has had his time.
bool Reception::has_room() {
  return guests_.size() < most_guests ||
         Clock::now() - first_to_go(guests_)->since >= std::min(fair_time, patience_);
}

void Reception::make_room(Guests& guests, std::size_t most) {
  if (guests.size() == most)
    guests.erase(first_to_go(guests));
}

std::optional<net::Connection> Reception::take(const Proof& link,
                                               std::chrono::steady_clock::time_point end,
                                               const std::function<bool()>& cancelled) {
  std::unique_lock lock{mutex_};
  auto found = admitted_.end();
  changed_.wait_until(lock, end, [&] {
    found = std::ranges::find_if(admitted_, [&](const Guest& guest) {
      return guest.hello.link == link; // its seal has been checked
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
