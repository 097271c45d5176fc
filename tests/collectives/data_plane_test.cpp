// Tests which ranks connect with each other, which connections are refused, and how waiting ends.
#include "core/net/sigpipe.hpp"
#include "core/net/socket.hpp"
#include "cpu/host_stream.hpp"
#include "tests/support/certificates.hpp"
#include "tests/support/loopback.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <chrono>
#include <thread>

#include <poll.h>
#include <sys/socket.h>

using namespace troupe;
using namespace troupe::collectives;
using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;
using std::chrono::steady_clock;
using testing::Certificates;
using testing::Loopback;

namespace {

constexpr auto time_limit = 30s;
const LinkName one_way{.group = "test", .from = 0, .to = 1};

/// Checks that rank 0 can send a byte to rank 1.
void check_connects(Loopback& ranks) {
  auto to = ranks.join_group(0)->connect(ranks.endpoints[1], one_way, time_limit);
  auto from = ranks.join_group(1)->accept(one_way, time_limit);
  INFO((to ? "" : to.error().to_string()) << (from ? "" : from.error().to_string()));
  REQUIRE(to);
  REQUIRE(from);
  std::array<std::byte, 1> byte = {std::byte{42}};
  REQUIRE(net::write_all(*to, byte, ranks.join_group(0)->io_deadline(time_limit)));
  byte = {};
  REQUIRE(net::read_all(*from, byte, ranks.join_group(1)->io_deadline(time_limit)));
  CHECK(byte[0] == std::byte{42});
}

net::Descriptor stranger_at(const Endpoint& endpoint) {
  auto socket = net::connect_to(endpoint, time_limit);
  REQUIRE(socket);
  return std::move(*socket);
}

/// Checks that every rank gets the sum of 1 over all ranks.
void check_sums(Loopback& ranks) {
  std::vector<std::thread> threads;
  auto group = ranks.connect(time_limit);
  for (auto& communicator : group) {
    INFO((communicator ? "" : communicator.error().to_string()));
    REQUIRE(communicator);
  }
  std::vector<std::vector<float>> values(group.size(), std::vector<float>(100000, 1));
  std::vector<Status> results(group.size());
  for (std::size_t rank = 0; rank < group.size(); ++rank)
    threads.emplace_back([&, rank] {
      cpu::HostStream stream{{.name = "communication"}};
      (*group[rank])->all_reduce(stream, {values[rank].data(), values[rank].size()});
      results[rank] = stream.synchronize();
    });
  for (auto& thread : threads)
    thread.join();
  for (std::size_t rank = 0; rank < group.size(); ++rank) {
    REQUIRE(results[rank]);
    CHECK(values[rank] == std::vector<float>(100000, static_cast<float>(group.size())));
  }
}

} // namespace

TEST_CASE("a rank connects to the rank that it names, in either order") {
  Loopback ranks{2};
  const auto late = std::chrono::milliseconds{GENERATE(0, 50)};
  auto accepting = std::async(std::launch::async,
                              [&] { return ranks.join_group(1)->accept(one_way, time_limit); });
  std::this_thread::sleep_for(late);
  CHECK(ranks.join_group(0)->connect(ranks.endpoints[1], one_way, time_limit));
  CHECK(accepting.get());
  // Connections for another group, rank or generation are not accepted.
  CHECK(ranks.join_group(0)->connect(ranks.endpoints[1], {"other", 0, 1}, time_limit));
  CHECK_FALSE(ranks.join_group(1)->accept(one_way, 50ms));
  CHECK_FALSE(ranks.join_group(1)->accept({"other", 1, 0}, 50ms));
  CHECK_FALSE(ranks.join_group(1, 2)->accept({"other", 0, 1}, 50ms));
}

TEST_CASE("a process without the secret cannot take another rank's place") {
  Loopback ranks{2};
  ConnectionGroup& guessing = *ranks.join_group(0, 1, "a guess");
  REQUIRE(
      guessing.connect(ranks.endpoints[1], one_way, time_limit)); // it is not told of the refusal
  const auto accepted = ranks.join_group(1)->accept(one_way, 100ms);
  REQUIRE_FALSE(accepted);
  CHECK_THAT(accepted.error().message, ContainsSubstring("node 0 has not connected within 100ms"));
}

TEST_CASE("no group for gradients or NCCL's id has a member without the secret") {
  Loopback ranks{2};
  const auto join = [&](int rank, const std::string& secret) {
    return std::async(std::launch::async, [&ranks, rank, secret] {
      return connect_tcp({.member = rank,
                          .endpoints = ranks.endpoints,
                          .group = "test",
                          .timeout = 300ms,
                          .connect_timeout = 300ms},
                         ranks.join_group(rank, 1, secret));
    });
  };
  auto member = join(0, "a secret"), guessing = join(1, "a guess");
  CHECK_FALSE(member.get());
  CHECK_FALSE(guessing.get());
}

TEST_CASE("a process may connect before its peer knows the generation") {
  Loopback ranks{2};
  REQUIRE(ranks.join_group(1, 1, "the secret before"));
  auto early = ranks.join_group(0, 2)->connect(ranks.endpoints[1], one_way, time_limit);
  auto guess = ranks.join_group(0, 3, "a guess")->connect(ranks.endpoints[1], one_way, time_limit);
  REQUIRE(early);
  REQUIRE(guess);
  std::this_thread::sleep_for(20ms);
  CHECK(ranks.join_group(1, 2)->accept(one_way, time_limit));
}

TEST_CASE("a connection with a wrong handshake is closed and evicts no authenticated one") {
  Loopback ranks{2, {}, 300ms};
  const net::NoSigpipe no_sigpipe;
  REQUIRE(ranks.join_group(1));
  auto to = ranks.join_group(0)->connect(ranks.endpoints[1], one_way, time_limit);
  const std::string wrong_handshake(48, 'x');
  std::vector<net::Descriptor> strangers;
  for (int i = 0; i < 600; ++i) {
    strangers.push_back(stranger_at(ranks.endpoints[1]));
    std::ignore =
        ::send(strangers.back().number(), wrong_handshake.data(), wrong_handshake.size(), 0);
  }
  CHECK(ranks.join_group(1)->accept(one_way, time_limit));
  for (const auto& stranger : strangers) { // the listener closes each connection
    std::byte nothing{};
    CHECK(::recv(stranger.number(), &nothing, 1, 0) <= 0);
  }
}

TEST_CASE("a handshake opens one connection, and replayed copies are closed") {
  Loopback ranks{2};
  const net::NoSigpipe no_sigpipe;
  REQUIRE(ranks.join_group(1));
  const auto listener = net::listen_on({"127.0.0.1", 0}).value();
  auto sender = ranks.join_group(0)->connect({"127.0.0.1", listener.port}, one_way, time_limit);
  REQUIRE(sender);
  pollfd waiting{listener.socket.number(), POLLIN, 0};
  REQUIRE(::poll(&waiting, 1, 30'000) == 1);
  const net::Descriptor overheard{::accept(listener.socket.number(), nullptr, nullptr)};
  std::string handshake(48, '\0');
  REQUIRE(::recv(overheard.number(), handshake.data(), handshake.size(), MSG_WAITALL) == 48);
  std::vector<net::Descriptor> copies;
  for (int i = 0; i < 300; ++i) {
    copies.push_back(stranger_at(ranks.endpoints[1]));
    std::ignore = ::send(copies.back().number(), handshake.data(), handshake.size(), MSG_NOSIGNAL);
  }
  CHECK(ranks.join_group(1)->accept(one_way, time_limit)); // the first copy
  for (std::size_t i = 1; i < copies.size(); ++i) {
    std::byte nothing{};
    CHECK(::recv(copies[i].number(), &nothing, 1, 0) <= 0);
  }
  CHECK_FALSE(ranks.join_group(1)->accept(one_way, 50ms));
  check_connects(ranks); // the same link, with a new handshake
}

TEST_CASE("a flood of connections leaves time for every handshake") {
  const Certificates certificates;
  Loopback ranks{2, certificates.of("node")};
  const net::NoSigpipe no_sigpipe;
  auto connecting = std::async(std::launch::async, [&] {
    return ranks.join_group(0)->connect(ranks.endpoints[1], one_way, time_limit);
  });
  std::vector<net::Descriptor> strangers; // always more than the listener accepts at a time
  for (int i = 0; i < 1000; ++i)
    strangers.push_back(stranger_at(ranks.endpoints[1]));
  CHECK(ranks.join_group(1)->accept(one_way, time_limit));
  CHECK(connecting.get());
}

TEST_CASE("neither side accepts a certificate whose name is not pinned") {
  const Certificates certificates;
  const auto of = [&](const std::string& who, const std::string& name) {
    auto tls = certificates.of(who);
    tls.names = {name};
    return tls;
  };
  Loopback nodes{2, of("node", "node")}, other{1, certificates.of("client")};
  check_connects(nodes);
  std::ignore = other.join_group(0)->connect(nodes.endpoints[1], one_way, time_limit);
  CHECK_FALSE(nodes.join_group(1)->accept(one_way, 200ms));
  const auto refused = nodes.join_group(0)->connect(other.endpoints[0], one_way, time_limit);
  REQUIRE_FALSE(refused);
  CHECK_THAT(refused.error().message, ContainsSubstring("not in cluster.tls.names"));
}

TEST_CASE("silent, invalid or closed connections do not keep others from connecting") {
  Loopback ranks{2};
  const net::NoSigpipe no_sigpipe;
  std::vector<net::Descriptor> silent;
  for (int i = 0; i < 300; ++i)
    silent.push_back(stranger_at(ranks.endpoints[1]));
  const std::string nonsense(4096, 'x');
  for (int i = 0; i < 50; ++i) {
    const auto stranger = stranger_at(ranks.endpoints[1]);
    std::ignore = ::send(stranger.number(), nonsense.data(), nonsense.size(), 0);
  }
  check_connects(ranks);
}

TEST_CASE("with certificates values are encrypted, and a peer without one cannot connect") {
  const Certificates certificates;
  Loopback ranks{3, certificates.of("node")};
  check_sums(ranks);
  Loopback without{1};
  auto to = without.join_group(0)->connect(ranks.endpoints[1], one_way, time_limit);
  CHECK_FALSE(ranks.join_group(1)->accept(one_way, 200ms));
  const Certificates of_others;
  Loopback foreign{1, of_others.of("node")};
  auto refused = foreign.join_group(0)->connect(ranks.endpoints[1], one_way, time_limit);
  REQUIRE_FALSE(refused);
  CHECK_THAT(refused.error().message, ContainsSubstring("certificate"));
}

TEST_CASE("a data port that answers a probe counts as reachable, and no connection opens") {
  const Certificates certificates;
  const bool encrypted = GENERATE(false, true);
  Loopback ranks{2, encrypted ? certificates.of("node") : TlsConfig{}};
  const auto probe = [&](int from, int to) {
    return ranks.planes[static_cast<std::size_t>(from)]->probe(
        "node", ranks.endpoints[static_cast<std::size_t>(to)], "a ticket", time_limit);
  };
  auto early = std::async(std::launch::async, [&] { return probe(0, 1); });
  CHECK(early.wait_for(50ms) ==
        std::future_status::timeout); // plane 1 does not know the ticket yet
  for (const auto& plane : ranks.planes)
    plane->answer_probes("a ticket", "node", time_limit);
  CHECK(early.get());
  CHECK(probe(0, 1));
  CHECK(probe(1, 0));
  check_connects(ranks);
}

TEST_CASE("a data port that does not answer a probe is named with the reason") {
  Loopback ranks{2};
  const auto& here = ranks.planes[0];
  ranks.planes[1]->answer_probes("a ticket", "node", time_limit);
  ranks.planes[1]->answer_probes("an old ticket", "node", 0ms);
  const auto why = [&](const std::string& node, const std::string& ticket, const Endpoint& to) {
    const auto begin = steady_clock::now();
    const auto status = here->probe(node, to, ticket, 300ms);
    CHECK(steady_clock::now() - begin < time_limit / 3);
    return status ? std::string{"answered"} : status.error().message;
  };
  const auto& other = ranks.endpoints[1];
  CHECK(why("node", "a ticket", other) == "answered");
  CHECK(why("another node", "a ticket", other) != "answered");
  CHECK(why("node", "a guess", other) != "answered");
  CHECK(why("node", "an old ticket", other) != "answered");
  const auto silent = net::listen_on({"127.0.0.1", 0}).value();
  CHECK_THAT(why("node", "a ticket", {"127.0.0.1", silent.port}), ContainsSubstring("no data for"));
  ranks.planes.pop_back();
  CHECK_THAT(why("node", "a ticket", other), ContainsSubstring("Connection refused"));
  CHECK_THAT(why("node", "a ticket", {"no-such-host.invalid", 1}),
             ContainsSubstring("no-such-host.invalid"));
}

TEST_CASE("a process that ends does not wait for probes of a silent port") {
  Loopback ranks{1};
  const auto silent = net::listen_on({"127.0.0.1", 0}).value();
  const auto begin = steady_clock::now();
  auto probing = std::async(std::launch::async, [&] {
    return ranks.planes[0]->probe("node", {"127.0.0.1", silent.port}, "a ticket", time_limit);
  });
  CHECK(probing.wait_for(50ms) == std::future_status::timeout);
  ranks.planes[0]->end_probes();
  CHECK_FALSE(probing.get());
  CHECK(steady_clock::now() - begin < time_limit / 3);
}

TEST_CASE("any number of ranks connects, not only powers of two") {
  Loopback ranks{GENERATE(1, 2, 3, 5, 16)};
  check_sums(ranks);
}

TEST_CASE("a rank that waits for others gets the reason at once when they cannot come") {
  Loopback ranks{2};
  const Error reason{Errc::network, "node b:1 was lost", {.node = "b:1"}};
  const auto begin = steady_clock::now();
  auto accepting = std::async(std::launch::async,
                              [&] { return ranks.join_group(1)->accept(one_way, time_limit); });
  auto group = std::async(std::launch::async, [&] {
    return connect_tcp({.member = 1, .endpoints = ranks.endpoints, .group = "test"},
                       ranks.join_group(1));
  });
  std::this_thread::sleep_for(20ms);
  ranks.planes[1]->cancel(2, reason); // cancels another generation
  CHECK(accepting.wait_for(20ms) == std::future_status::timeout);
  ranks.planes[1]->cancel(1, reason);
  CHECK(accepting.get().error().message == reason.message);
  CHECK(group.get().error().where.node == "b:1");
  CHECK(ranks.join_group(1)->connect(ranks.endpoints[0], one_way, time_limit).error().message ==
        reason.message);
  CHECK(steady_clock::now() - begin < time_limit / 3);
  CHECK(ranks.join_group(1, 2)->status()); // the next generation is not cancelled
}

TEST_CASE("an abort ends the wait for a rank that never connected") {
  Loopback ranks{5};
  auto group = ranks.connect(time_limit);
  cpu::HostStream stream{{.name = "communication"}};
  float value = 0;
  const auto begin = steady_clock::now();
  (*group[0])->receive(stream, {&value, 1}, 2); // not a neighbour, and it sends nothing
  std::this_thread::sleep_for(20ms);
  (*group[0])->abort({Errc::collective, "rank 2 was seen to die"});
  const auto status = stream.synchronize();
  REQUIRE_FALSE(status);
  CHECK_THAT(status.error().message, ContainsSubstring("rank 2 was seen to die"));
  CHECK(steady_clock::now() - begin < time_limit / 3);
}

TEST_CASE("a refused connection to a rank is reported at once") {
  Loopback ranks{2};
  const auto endpoints = ranks.endpoints;
  ranks.planes.pop_back();
  const auto begin = steady_clock::now();
  const auto connected =
      connect_tcp({.member = 0, .endpoints = endpoints, .group = "test"}, ranks.join_group(0));
  REQUIRE_FALSE(connected);
  CHECK_THAT(connected.error().message, ContainsSubstring("Connection refused"));
  CHECK(steady_clock::now() - begin < time_limit / 3);
}
