#include "endpoint.hpp"

#include "troupe/core/fail.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <vector>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

namespace troupe::metrics {

namespace {

using Clock = HttpConnection::Clock;

/// More wait in the listener's queue.
constexpr std::size_t most_connections = 32;

HttpAnswer answer_to(std::string_view path, const EndpointSources& sources) {
  if (path == "/metrics")
    return {.content_type = "text/plain; version=0.0.4; charset=utf-8", .body = sources.metrics()};
  if (path == "/sd")
    return {.content_type = "application/json", .body = sources.targets()};
  if (path == "/healthz")
    return {.body = "ok\n"};
  if (path == "/readyz") {
    const auto [ready, why] = sources.readiness();
    if (ready)
      return {.body = fmt::format("ready: {}\n", why)};
    return {.status = 503,
            .reason = "Service Unavailable",
            .body = fmt::format("not ready: {}\n", why)};
  }
  return {.status = 404,
          .reason = "Not Found",
          .body = "not found; there are /metrics, /sd, /healthz and /readyz\n"};
}

int until_first_deadline(const std::vector<HttpConnection>& connections) {
  if (connections.empty())
    return -1;
  const auto first = std::ranges::min_element(connections, {}, &HttpConnection::deadline);
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(first->deadline() - Clock::now());
  return std::max(0, static_cast<int>(left.count()));
}

void accept_all(int listener, std::vector<HttpConnection>& connections) {
  while (connections.size() < most_connections) {
    net::Descriptor socket(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket) {
      // Out of descriptors: they stay in the queue, and asking again at once would spin.
      if (errno == EMFILE || errno == ENFILE)
        ::poll(nullptr, 0, 50);
      return;
    }
    connections.emplace_back(std::move(socket));
  }
}

} // namespace

Result<std::unique_ptr<HttpEndpoint>> HttpEndpoint::start(std::string_view listen,
                                                          EndpointSources sources) {
  auto address = parse_endpoint(listen);
  if (!address)
    return fail(Errc::invalid_input, "metrics.listen: \"{}\" is not HOST:PORT", listen);
  auto listener = net::listen_on(*address);
  if (!listener)
    return fail(Errc::network,
                "metrics.listen: {}; choose another port, port 0 for any free one, or off",
                listener.error().message);
  net::Descriptor wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake)
    return fail(Errc::io, "metrics.listen: cannot make an eventfd: {}", std::strerror(errno));
  address->port = listener->port;
  return std::unique_ptr<HttpEndpoint>(new HttpEndpoint(
      std::move(*address), std::move(listener->socket), std::move(wake), std::move(sources)));
}

HttpEndpoint::HttpEndpoint(Endpoint address, net::Descriptor listener, net::Descriptor wake,
                           EndpointSources sources)
    : address_(std::move(address)), listener_(std::move(listener)), wake_(std::move(wake)),
      sources_(std::move(sources)), thread_([this] { serve(); }) {}

HttpEndpoint::~HttpEndpoint() {
  ::eventfd_write(wake_.number(), 1);
  thread_.join();
}

std::optional<Clock::time_point> HttpEndpoint::last_scrape() const {
  const auto when = last_scrape_.load();
  return when == never ? std::nullopt : std::optional{when};
}

void HttpEndpoint::note(const HttpConnection& ended) {
  if (const auto when = ended.scraped())
    last_scrape_ = std::max(last_scrape_.load(), *when);
}

void HttpEndpoint::serve() {
  // Signals are for the thread that ends the run.
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);

  const HttpRoutes routes = [this](std::string_view path) { return answer_to(path, sources_); };
  std::vector<HttpConnection> connections;
  for (;;) {
    const short may_accept = connections.size() < most_connections ? POLLIN : 0;
    std::vector<pollfd> watched = {{wake_.number(), POLLIN, 0},
                                   {listener_.number(), may_accept, 0}};
    for (const auto& connection : connections)
      watched.push_back({connection.socket(), connection.awaited(), 0});
    if (::poll(watched.data(), watched.size(), until_first_deadline(connections)) < 0)
      continue;
    if (watched[0].revents)
      return;
    const auto now = Clock::now();
    std::size_t i = 2;
    std::erase_if(connections, [&](HttpConnection& connection) {
      const bool active = watched[i++].revents != 0;
      const bool over = (active && !connection.proceed(routes)) || now >= connection.deadline();
      if (over)
        note(connection);
      return over;
    });
    if (watched[1].revents)
      accept_all(listener_.number(), connections);
  }
}

} // namespace troupe::metrics
