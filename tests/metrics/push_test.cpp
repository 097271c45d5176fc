#include "core/net/socket.hpp"
#include "metrics/push/push_gateway.hpp"
#include "tests/support/http_client.hpp"

#include <catch2/catch_test_macros.hpp>

#include <atomic>
#include <future>
#include <thread>

#include <poll.h>

using namespace troupe;
using namespace troupe::metrics;
using namespace troupe::testing;
using namespace std::chrono_literals;

namespace {

/// A server that gives each request the same answer; with an empty answer, it never answers.
class Receiver {
public:
  explicit Receiver(std::string answer)
      : listener_{net::listen_on({"127.0.0.1", 0}).value()}, answer_{std::move(answer)},
        thread_{[this] { serve(); }} {}
  ~Receiver() {
    ended_ = true;
    thread_.join();
  }

  std::string url() const { return "http://127.0.0.1:" + std::to_string(listener_.port); }
  /// Returns the newest request; valid once the thread has ended or a push has returned.
  std::string request() const {
    const std::lock_guard lock{mutex_};
    return request_;
  }
  int requests() const { return requests_; }

private:
  void serve() {
    while (!ended_) {
      pollfd waits{listener_.socket.number(), POLLIN, 0};
      if (::poll(&waits, 1, 10) != 1)
        continue;
      const net::Descriptor client{::accept(listener_.socket.number(), nullptr, nullptr)};
      if (client)
        answer(client.number());
    }
  }

  void answer(int client) {
    std::string request;
    std::array<char, 4096> piece{};
    while (!request.ends_with("the end\n")) {
      const auto count = ::recv(client, piece.data(), piece.size(), 0);
      if (count <= 0)
        return;
      request.append(piece.data(), static_cast<std::size_t>(count));
    }
    {
      const std::lock_guard lock{mutex_};
      request_ = request;
    }
    ++requests_;
    if (answer_.empty()) // until the other side gives up
      ::recv(client, piece.data(), piece.size(), 0);
    else
      ::send(client, answer_.data(), answer_.size(), MSG_NOSIGNAL);
  }

  net::Listener listener_;
  const std::string answer_;
  mutable std::mutex mutex_;
  std::string request_;
  std::atomic<int> requests_ = 0;
  std::atomic<bool> ended_ = false;
  std::thread thread_;
};

const std::string accepted = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

/// Pushes until the gateway has asked for `pushes` texts. Returns the warnings.
std::vector<std::string> push(PushOptions options, int pushes = 1) {
  std::vector<std::string> warnings;
  std::atomic<int> texts = 0;
  {
    const PushGateway gateway{std::move(options),
                              [&] {
                                ++texts;
                                return std::string{"troupe_step 7\nthe end\n"};
                              },
                              [&](const std::string& why) { warnings.push_back(why); }};
    while (texts < pushes - 1)
      std::this_thread::sleep_for(1ms);
  }
  return warnings;
}

} // namespace

TEST_CASE("the metrics at the end of a run are pushed") {
  const Receiver receiver{accepted};
  CHECK(push({.url = receiver.url(), .run = "a run/ü", .instance = "host:7401"}).empty());
  CHECK(receiver.requests() == 1);
  CHECK(receiver.request().starts_with(
      "PUT /metrics/job/troupe/run/a%20run%2F%C3%BC/instance/host%3A7401 HTTP/1.1\r\n"));
  CHECK(receiver.request().ends_with("\r\n\r\ntroupe_step 7\nthe end\n"));
}

TEST_CASE("metrics are pushed repeatedly") {
  const Receiver receiver{accepted};
  CHECK(push({.url = receiver.url(), .run = "run", .instance = "host", .every = 1ms}, 5).empty());
  CHECK(receiver.requests() >= 5);
}

TEST_CASE("a gateway's refusal is logged once for consecutive failures") {
  const Receiver receiver{"HTTP/1.1 400 Bad Request\r\nContent-Length: 8\r\n\r\nno\x1b good"};
  const auto warnings =
      push({.url = receiver.url() + "/", .run = "run", .instance = "host", .every = 1ms}, 5);
  CHECK(receiver.requests() >= 5);
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0] ==
        "cannot push metrics to " + receiver.url() + "/: it answered 400: no\\x1b good");
}

TEST_CASE("a gateway that is missing or does not answer delays nothing for long") {
  const auto nobody = net::listen_on({"127.0.0.1", 0}).value().port; // released at once
  const auto warnings = push({.url = "http://u:secret@127.0.0.1:" + std::to_string(nobody),
                              .run = "run",
                              .instance = "host"});
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].starts_with("cannot push metrics to http://127.0.0.1:"));
  CHECK(warnings[0].find("secret") == std::string::npos);

  const Receiver silent{""};
  const auto begin = std::chrono::steady_clock::now();
  CHECK(push({.url = silent.url(), .run = "run", .instance = "host", .time_limit = 50ms}).size() ==
        1);
  CHECK(std::chrono::steady_clock::now() - begin < 60s); // curl's default limit is 300 s
}
