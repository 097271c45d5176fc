#include "actors/node/client.hpp"
#include "actors/node/network.hpp"
#include "core/net/peer_endpoint.hpp"
#include "core/net/socket.hpp"
#include "core/net/tls.hpp"
#include "metrics/http/endpoint.hpp"
#include "tests/actors/stub_roles.hpp"
#include "tests/support/certificates.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <caf/io/all.hpp>
#include <caf/openssl/all.hpp>

#include <atomic>
#include <future>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

using namespace troupe;
using namespace troupe::actors;
using namespace std::chrono_literals;
using testing::Certificates;

namespace {

/// A daemon in this process with a separate actor system: it reports the progress of its job and
/// counts requests to stop.
class Daemon {
public:
  explicit Daemon(const TlsConfig& tls = {}, const std::string& version = "1.2.3",
                  std::string job = "job")
      : config_{NetworkOptions{version, tls}}, job_{std::move(job)} {
    REQUIRE(publish(node_, address_, {version, tls}));
  }
  ~Daemon() { caf::anon_send_exit(node_, caf::exit_reason::user_shutdown); }
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  ClientOptions asked_by(const TlsConfig& client, std::chrono::milliseconds timeout = 20s) const {
    return {.daemon = address_, .tls = client, .version = "1.2.3", .timeout = timeout};
  }
  std::string at() const { return to_string(address_); }
  int stops() const { return stops_; }

private:
  // Released at once, for the actor system to listen on.
  Endpoint address_{"127.0.0.1", net::listen_on({"127.0.0.1", 0}).value().port};
  std::atomic<int> stops_ = 0;
  SystemConfig config_;
  std::string job_; ///< name of its job
  caf::actor_system system_{config_};
  node_actor node_ = test::spawn_stub<node_actor>(
      system_, [this](atom::stop, StopReason what) { stops_ += what == StopReason::job; },
      [job = job_](atom::status) {
        return JobStatus{.name = job,
                         .step = 7,
                         .tokens_per_second = 320,
                         .nodes = {{.name = "a", .ranks = {0, 1}}}};
      });
};

std::string why_not(const ClientOptions& options) {
  const auto status = ask_status(options);
  return status ? "it answers" : status.error().to_string();
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("a daemon answers status and stop, with and without certificates") {
  const Certificates certificates;
  const bool secured = GENERATE(false, true);
  CAPTURE(secured);
  const Daemon daemon(secured ? certificates.of("node") : TlsConfig{});
  const auto options = daemon.asked_by(secured ? certificates.of("client") : TlsConfig{});
  const auto status = ask_status(options);
  REQUIRE(status);
  CHECK(status->name == "job");
  CHECK(status->step == 7);
  CHECK(status->tokens_per_second == 320);
  REQUIRE(status->nodes.size() == 1);
  CHECK(status->nodes[0] == metrics::NodeRecord{.name = "a", .ranks = {0, 1}});
  CHECK(ask_to_stop(options, StopReason::job, false));
  CHECK(daemon.stops() == 1);
}

TEST_CASE("an address in a message that is not HOST:PORT is not connected to") {
  CHECK(net::peer_endpoint("10.0.0.2:7401") == Endpoint{"10.0.0.2", 7401});
  const auto text = GENERATE(as<std::string>{}, "", "nonsense", "10.0.0.2\xfb", "10.0.0.2:99999");
  CAPTURE(text);
  const auto socket = net::connect_to(net::peer_endpoint(text), 1s);
  REQUIRE_FALSE(socket);
  CHECK(socket.error().code == Errc::network);

  const NetworkOptions network{"1.2.3"};
  SystemConfig config{network};
  std::promise<std::string> tried;
  {
    caf::actor_system system{config};
    const auto voter = test::spawn_stub<consensus_actor>(
        system, [&](atom::introduce, const std::string& address) { tried.set_value(address); });
    introduce(system, network, 1s, {}, voter, text);
    CHECK(tried.get_future().get() == text);
    caf::anon_send_exit(voter, caf::exit_reason::user_shutdown);
  }
}

TEST_CASE("asking a port on which nothing listens reports the refused connection") {
  const auto port = net::listen_on({"127.0.0.1", 0}).value().port;
  const ClientOptions options{.daemon = {"127.0.0.1", port}, .version = "1.2.3"};
  CHECK(why_not(options) ==
        "network: cannot connect to 127.0.0.1:" + std::to_string(port) + ": Connection refused");
  CHECK(has(why_not({.daemon = {"host.invalid", 1}, .version = "1.2.3"}),
            "network: cannot connect to host.invalid:1: "));
}

TEST_CASE("a server that sends single bytes does not extend the timeout") {
  const Certificates certificates;
  const bool secured = GENERATE(false, true);
  CAPTURE(secured);
  const auto listener = net::listen_on({"127.0.0.1", 0}).value();
  const std::jthread dripping{[&](const std::stop_token& stop) {
    pollfd waiting{listener.socket.number(), POLLIN, 0};
    ::poll(&waiting, 1, 20'000);
    const net::Descriptor client{::accept(listener.socket.number(), nullptr, nullptr)};
    while (!stop.stop_requested() && ::send(client.number(), "\0", 1, MSG_NOSIGNAL) == 1)
      std::this_thread::sleep_for(900ms);
  }};
  const auto begin = std::chrono::steady_clock::now();
  CHECK(has(why_not({.daemon = {"127.0.0.1", listener.port},
                     .tls = secured ? certificates.of("client") : TlsConfig{},
                     .version = "1.2.3",
                     .timeout = 1s}),
            secured ? "network: no TLS connection to" : "does not answer like a troupe daemon"));
  CHECK(std::chrono::steady_clock::now() - begin < 10s);
}

TEST_CASE("asking a daemon of another version reports both versions") {
  const Daemon daemon({}, "1.2.4");
  CHECK(why_not(daemon.asked_by({})) ==
        "network: the daemon at " + daemon.at() +
            " is troupe 1.2.4, but this program is troupe 1.2.3; use the same version");
}

TEST_CASE("a server that is not a daemon is reported") {
  const Certificates certificates;
  auto http = metrics::HttpEndpoint::start("127.0.0.1:0", {});
  REQUIRE(http);
  const ClientOptions plain{
      .daemon = {"127.0.0.1", (*http)->port()}, .version = "1.2.3", .timeout = 300ms};
  CHECK(has(why_not(plain), "does not answer like a troupe daemon without TLS"));
  auto secured = plain;
  secured.tls = certificates.of("client");
  CHECK(has(why_not(secured), "network: no TLS connection to the process that listens at "));
}

TEST_CASE("a client without certificates is told at once that the daemon requires them") {
  const Certificates certificates;
  const Daemon daemon(certificates.of("node"));
  const auto begin = std::chrono::steady_clock::now();
  CHECK(why_not(daemon.asked_by({}, 60s)) == "network: the daemon at " + daemon.at() +
                                                 " accepts only connections with a certificate: "
                                                 "set cluster.tls, or pass --tls-cert, --tls-key "
                                                 "and --tls-ca");
  CHECK(std::chrono::steady_clock::now() - begin < 30s);
  CHECK(why_not(daemon.asked_by(certificates.of("client"))) == "it answers");
}

TEST_CASE("both sides check pinned names") {
  const Certificates certificates;
  const auto of = [&](const std::string& who, const std::vector<std::string>& names) {
    auto tls = certificates.of(who);
    tls.names = names;
    return tls;
  };
  const Daemon open(certificates.of("node")), closed(of("node", {"client", "admin"}));
  CHECK(why_not(open.asked_by(of("client", {"other", "node"}))) == "it answers");
  CHECK(why_not(open.asked_by(of("client", {"other", "NODE"}))) == "it answers");
  CHECK(why_not(closed.asked_by(of("client", {"node"}))) == "it answers");
  for (const auto* other : {"other", "nod", "node2", "n*", "*", ".node", "node.node"})
    CHECK(why_not(open.asked_by(of("client", {other}))) ==
          "network: the certificate of the daemon at " + open.at() +
              " is not trusted: its name is not in cluster.tls.names (cluster.tls.ca: " +
              certificates.path("ca.crt") + ")");
  const auto refused = why_not(closed.asked_by(certificates.of("node")));
  CHECK(has(refused, "network: the daemon at " + closed.at() + " refuses the certificate " +
                         certificates.path("node.crt")));
  CHECK(has(refused, "does cluster.tls.names of the peer contain this node's name?"));
  CHECK(closed.stops() == 0);
}

TEST_CASE("a pinned name matches the subject, a DNS name or all names below a wildcard") {
  const Certificates certificates;
  const auto answers = [](const Daemon& daemon, TlsConfig client, const std::string& name) {
    client.names = {name};
    return why_not(daemon.asked_by(client)) == "it answers";
  };
  const Daemon daemon(certificates.made("two", "/CN=node 2", "DNS:a.troupe.example,DNS:b.example"));
  for (const auto* name :
       {"node 2", "a.troupe.example", "b.example", ".troupe.example", ".example"})
    CHECK(answers(daemon, certificates.of("client"), name));
  for (const auto* name : {"troupe.example", ".a.troupe.example", "c.example", "node"})
    CHECK_FALSE(answers(daemon, certificates.of("client"), name));
}

TEST_CASE("a daemon keeps using the certificates that it read at startup") {
  const Certificates certificates;
  const Daemon daemon(certificates.of("node"));
  CHECK(why_not(daemon.asked_by(certificates.of("client"))) == "it answers");
  std::filesystem::remove(certificates.path("node.crt"));
  std::filesystem::remove(certificates.path("node.key"));
  CHECK(why_not(daemon.asked_by(certificates.of("client"))) == "it answers");
}

TEST_CASE("a client with certificates refuses a daemon without") {
  const Certificates certificates;
  const Daemon daemon;
  CHECK(has(why_not(daemon.asked_by(certificates.of("client"))),
            "network: no TLS connection to the process that listens at " + daemon.at()));
  CHECK(has(why_not(daemon.asked_by(certificates.of("client"))),
            "if it is a troupe daemon, its config lacks cluster.tls"));
}

TEST_CASE("both sides refuse certificates of another authority") {
  const Certificates ours, others;
  const Daemon daemon(ours.of("node"));
  CHECK(has(why_not(daemon.asked_by(others.of("client"))),
            "network: the certificate of the daemon at " + daemon.at() + " is not trusted: "));

  // A client that trusts both authorities.
  auto trusting = others.of("client");
  trusting.ca = others.path("both.crt");
  testing::write_bytes(*trusting.ca, testing::read_bytes(ours.path("ca.crt")) +
                                         testing::read_bytes(others.path("ca.crt")));
  CHECK(has(why_not(daemon.asked_by(trusting)), "network: the daemon at " + daemon.at() +
                                                    " refuses the certificate " +
                                                    *trusting.certificate + ": "));
  CHECK(why_not(daemon.asked_by(ours.of("client"))) == "it answers");
}

TEST_CASE("files that do not match are named, with the reason") {
  const Certificates ours, others;
  CHECK(net::open_tls(ours.of("node")));
  const auto problem = [](const TlsConfig& tls) {
    const auto context = net::open_tls(tls);
    return context ? "none" : context.error().to_string();
  };
  auto wrong = ours.of("node");
  wrong.certificate = "nowhere.crt";
  CHECK(problem(wrong) ==
        "invalid input: cluster.tls.certificate: nowhere.crt: No such file or directory");
  wrong = ours.of("node");
  wrong.key = ours.path("client.key");
  CHECK(problem(wrong) ==
        "invalid input: cluster.tls.key: " + *wrong.key + ": key values mismatch");
  wrong = ours.of("node");
  wrong.ca = ours.path("node.key");
  CHECK(problem(wrong).starts_with("invalid input: cluster.tls.ca: " + *wrong.ca + ": "));
  wrong = ours.of("node");
  wrong.ca = others.path("ca.crt");
  CHECK(problem(wrong).starts_with("invalid input: cluster.tls.certificate: " + *wrong.certificate +
                                   ": "));
  CHECK(problem(ours.expired())
            .starts_with("invalid input: cluster.tls.certificate: " + ours.path("expired.crt") +
                         ": certificate has expired"));
}

TEST_CASE("a TLS key that everyone can read or write is refused, one for a group is accepted") {
  const Certificates ours;
  const auto tls = ours.of("node");
  const auto problem = [&](unsigned mode) {
    std::filesystem::permissions(*tls.key, static_cast<std::filesystem::perms>(mode));
    const auto context = net::open_tls(tls);
    return context ? "none" : context.error().to_string();
  };
  const auto refusal =
      "invalid input: cluster.tls.key: " + *tls.key + ": every user of this machine ";
  CHECK(problem(0600) == "none");
  CHECK(problem(0440) == "none"); // as packaging/kubernetes mounts it
  CHECK(problem(0644).starts_with(refusal + "can read it"));
  CHECK(problem(0602).starts_with(refusal + "can write it"));
}

TEST_CASE("an answer that is too large for the network is only an error") {
  const Daemon daemon({}, "1.2.3", std::string(2 << 20, 'x'));
  CHECK(has(why_not(daemon.asked_by({})), "exceeds caf.middleman.max-message-size"));
  CHECK(ask_to_stop(daemon.asked_by({}), StopReason::job, false));
  const Daemon large({}, "1.2.3", std::string(1000 << 10, 'x'));
  CHECK(why_not(large.asked_by({})) == "it answers");
}

TEST_CASE("a CAF without limits for unknown peers listens only on loopback") {
  CHECK(network_is_bounded()); // the CAF that tools/bootstrap builds
  CHECK(check_reach({"10.0.0.1", 7401}, true));
  CHECK(check_reach({"127.0.0.1", 7401}, false));
  const auto refused = check_reach({"10.0.0.1", 7401}, false);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().exit_code() == 2);
  CHECK(has(refused.error().message, "cluster.listen: 10.0.0.1:7401 can be reached"));
}

namespace {

/// A listener that accepts no connection and whose queue is full: Linux drops further attempts to
/// connect, as if no packet arrived.
class FullListener {
public:
  FullListener() : listener_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)} {
    at_.sin_family = AF_INET;
    at_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::bind(listener_.number(), address(), sizeof at_) == 0);
    REQUIRE(::listen(listener_.number(), 0) == 0);
    socklen_t size = sizeof at_;
    REQUIRE(::getsockname(listener_.number(), address(), &size) == 0);
    for (int i = 0; i < 4; ++i) {
      waiting_.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
      ::connect(waiting_.back().number(), address(), sizeof at_);
    }
  }
  std::uint16_t port() const { return ntohs(at_.sin_port); }

private:
  sockaddr* address() { return reinterpret_cast<sockaddr*>(&at_); }

  net::Descriptor listener_;
  sockaddr_in at_{};
  std::vector<net::Descriptor> waiting_;
};

} // namespace

TEST_CASE("an attempt to connect ends after the detection timeout, so that others can start") {
  const bool secured = GENERATE(false, true);
  CAPTURE(secured);
  const Certificates certificates;
  const FullListener silent;
  NetworkOptions options{"1.2.3", secured ? certificates.of("node") : TlsConfig{}};
  options.timeouts.detection = 300ms;
  SystemConfig settings{options};
  caf::actor_system system{settings};
  caf::scoped_actor self{system};
  const auto connects =
      secured ? system.openssl_manager().actor_handle() : system.middleman().actor_handle();
  caf::error why;
  self->request(connects, 60s, caf::connect_atom_v, std::string{"127.0.0.1"}, silent.port())
      .receive([](const caf::node_id&, const caf::strong_actor_ptr&,
                  const std::set<std::string>&) { FAIL("it is connected"); },
               [&](const caf::error& error) { why = error; });
  CHECK(why == caf::sec::cannot_connect_to_node); // rather than a timeout
}

TEST_CASE("a peer cannot end an actor") {
  const Daemon daemon;
  const NetworkOptions options{"1.2.3"};
  SystemConfig settings{options};
  caf::actor_system system{settings};
  const auto at = *parse_endpoint(daemon.at());
  const auto node = connect(system, at, options, 20s);
  REQUIRE(node);
  caf::anon_send_exit(*node, caf::exit_reason::kill);
  caf::anon_send(caf::actor_cast<caf::actor>(*node), caf::make_error(caf::sec::runtime_error));
  caf::scoped_actor self{system};
  self->request(*node, 20s, atom::status_v)
      .receive([](const JobStatus& job) { CHECK(job.name == "job"); },
               [](const caf::error& error) { FAIL(caf::to_string(error)); });
}
