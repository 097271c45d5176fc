// Tests which nodes may take part in a job whose nodes have certificates.
#include "tests/support/certificates.hpp"
#include "tests/system/daemons.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace troupe;
using namespace troupe::testing;
using namespace std::chrono_literals;

namespace {

Settings pinned(const TlsConfig& tls, const std::string& names) {
  return settings_of(tls) + Settings{"cluster.tls.names=[" + names + "]"};
}

} // namespace

TEST_CASE("a node that is not trusted or trusts no one is told why, and the job waits for others") {
  const Certificates ours, others;
  const Experiment experiment;
  Daemons daemons{experiment, "nodes", for_nodes(2, "ddp")};
  auto& leader = daemons.lead(pinned(ours.of("node"), "node"));
  const auto is_told = [&](const Settings& settings, const std::string& why) {
    const auto ended = daemons.join(settings).wait();
    CAPTURE(settings, ended.err);
    CHECK(ended.code == 2);
    CHECK(has(ended.err, why));
  };
  is_told({},
          "the daemon at " + daemons.address() + " accepts only connections with a certificate");
  is_told(settings_of(others.of("node")), "is not trusted: ");
  is_told(pinned(ours.of("node"), "other"), "its name is not in cluster.tls.names");
  // The node considers its certificate valid: the other side may be repaired, so it tries again.
  const auto refused =
      daemons
          .join(settings_of(ours.of("client")) +
                Settings{"cluster.timeouts.detection=500ms", "cluster.timeouts.rejoin=1s",
                         "cluster.timeouts.collective=2s", "cluster.timeouts.quorum=3s"})
          .wait();
  CAPTURE(refused.out, refused.err);
  CHECK(refused.code == 1);
  CHECK(has(refused.err, "does cluster.tls.names of the peer contain this node's name?"));
  CHECK(leader.running());
  CHECK(daemons.join(pinned(ours.of("node"), "other, node")).wait().code == 0);
  CHECK(terminate(leader).code == 0);
  CHECK(experiment.run("nodes").summary().at("status") == "completed");
}

TEST_CASE("a node with certificates does not join a daemon without") {
  const Certificates certificates;
  const Experiment experiment;
  Daemons daemons{experiment, "nodes", for_nodes(2, "ddp")};
  auto& leader = daemons.lead();
  const auto ended = daemons.join(settings_of(certificates.of("node"))).wait();
  CHECK(ended.code == 2);
  CHECK(has(ended.err, "if it is a troupe daemon, its config lacks cluster.tls"));
  CHECK(terminate(leader).code == 0);
}
