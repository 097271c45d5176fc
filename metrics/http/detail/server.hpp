/// The HTTP server's thread and its client sessions.
#pragma once

#include "core/net/descriptor.hpp"
#include "metrics/http/detail/followers.hpp"
#include "metrics/http/detail/routes.hpp"
#include "metrics/http/detail/session.hpp"

#include <atomic>
#include <list>
#include <memory>
#include <optional>
#include <thread>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/steady_timer.hpp>

namespace troupe::metrics {

/// The server's TLS certificate; null: plain HTTP.
using HttpsContext = std::unique_ptr<boost::asio::ssl::context>;

class HttpServer {
public:
  using Clock = HttpSession::Clock;

  /// Starts to serve connections of the listener.
  HttpServer(net::Descriptor listener, HttpsContext https, HttpRoutes routes,
             const EndpointTimes& times);
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  ~HttpServer();

  /// Thread-safe.
  std::optional<Clock::time_point> last_scrape() const;

  // For sessions:
  const EndpointTimes& times() const { return times_; }
  boost::asio::ssl::context* https() { return https_.get(); }
  HttpAnswer answer(const HttpQuestion& question) { return routes_.answer(question); }
  Followers& followers() { return followers_; }
  void note_scrape(Clock::time_point read);
  void remove(const HttpSession& session);

private:
  using Acceptor = boost::asio::ip::tcp::acceptor;

  void serve();
  void accept();
  void admit(HttpStream::Socket socket);
  void make_room();
  void pause();
  void run_clock();
  void tick();
  void leave(Clock::time_point latest);

  static constexpr auto never = Clock::time_point::min();
  HttpRoutes routes_;
  HttpsContext https_;
  const EndpointTimes times_;
  boost::asio::io_context context_{1};
  Acceptor acceptor_{context_};
  boost::asio::steady_timer clock_{context_}; ///< runs while any client is connected
  bool clock_runs_ = false;
  boost::asio::steady_timer pause_{context_}, farewell_{context_};
  Followers followers_{routes_.page()};
  std::list<std::shared_ptr<HttpSession>> sessions_; ///< oldest first
  std::atomic<Clock::time_point> last_scrape_{never};
  std::thread thread_; ///< last: it uses all members above
};

} // namespace troupe::metrics
