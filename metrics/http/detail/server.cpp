#include "metrics/http/detail/server.hpp"

#include <algorithm>
#include <csignal>
#include <vector>

#include <boost/asio/post.hpp>
#include <fcntl.h>
#include <sys/socket.h>

namespace troupe::metrics {

namespace {

using Tcp = boost::asio::ip::tcp;

/// Besides followers. Beyond this, a new connection evicts the oldest one that does not follow.
constexpr std::size_t most_connections = 128;
constexpr int most_in_queue = 1024; ///< not yet accepted
constexpr std::chrono::seconds longest_farewell{1};

Tcp protocol_of(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size);
  return address.ss_family == AF_INET6 ? Tcp::v6() : Tcp::v4();
}

} // namespace

HttpServer::HttpServer(net::Descriptor listener, HttpsContext https, HttpRoutes routes,
                       const EndpointTimes& times)
    : routes_{std::move(routes)}, https_{std::move(https)}, times_{times} {
  const auto protocol = protocol_of(listener.number());
  acceptor_.assign(protocol, listener.release());
  acceptor_.listen(most_in_queue);
  accept();
  thread_ = std::thread{[this] { serve(); }};
}

HttpServer::~HttpServer() {
  boost::asio::post(context_, [this] {
    followers_.tick();
    leave(Clock::now() + longest_farewell);
  });
  thread_.join();
}

/// Sends followers the end of the run, as far as they receive it by `latest`.
void HttpServer::leave(Clock::time_point latest) {
  if (followers_.know_all() || Clock::now() >= latest)
    return context_.stop();
  farewell_.expires_after(std::chrono::milliseconds{5});
  farewell_.async_wait([this, latest](const auto&) {
    if (!followers_.know_all())
      followers_.tick();
    leave(latest);
  });
}

std::optional<HttpServer::Clock::time_point> HttpServer::last_scrape() const {
  const auto when = last_scrape_.load();
  return when == never ? std::nullopt : std::optional{when};
}

void HttpServer::note_scrape(Clock::time_point read) {
  last_scrape_ = std::max(last_scrape_.load(), read);
}

void HttpServer::serve() {
  // Signals are handled by the thread that ends the run.
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
  context_.run();
  followers_.clear();
}

void HttpServer::accept() {
  acceptor_.async_accept([this](const auto& error, HttpStream::Socket socket) {
    if (error)
      return pause();
    admit(std::move(socket));
    accept();
  });
}

/// Waits when out of descriptors: the connections stay in the queue, and an immediate retry would
/// spin.
void HttpServer::pause() {
  pause_.expires_after(std::chrono::milliseconds{50});
  pause_.async_wait([this](const auto&) { accept(); });
}

void HttpServer::admit(HttpStream::Socket socket) {
  ::fcntl(socket.native_handle(), F_SETFD, FD_CLOEXEC);
  make_room();
  sessions_.push_back(std::make_shared<HttpSession>(std::move(socket), *this));
  const auto session = sessions_.back(); // start() may end it and remove it from the list
  session->start();
  run_clock();
}

void HttpServer::make_room() {
  if (sessions_.size() - followers_.count() < most_connections)
    return;
  const auto first =
      std::ranges::find_if_not(sessions_, [](const auto& session) { return session->follows(); });
  const auto session = *first; // end() removes it from the list
  session->end();
}

void HttpServer::remove(const HttpSession& session) {
  followers_.remove(session);
  sessions_.remove_if([&](const auto& other) { return other.get() == &session; });
}

void HttpServer::run_clock() {
  if (std::exchange(clock_runs_, true))
    return;
  clock_.expires_after(times_.tick);
  clock_.async_wait([this](const auto&) {
    clock_runs_ = false;
    tick();
    if (!sessions_.empty())
      run_clock();
  });
}

void HttpServer::tick() {
  const auto now = Clock::now();
  std::vector<std::shared_ptr<HttpSession>> late; // end() removes them from the list
  std::ranges::copy_if(sessions_, std::back_inserter(late),
                       [now](const auto& session) { return session->deadline() <= now; });
  for (const auto& session : late)
    session->end();
  followers_.tick();
}

} // namespace troupe::metrics
