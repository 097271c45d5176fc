// Tests what a node must prove before the others halt for it.
#include "tests/actors/membership_fixture.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <algorithm>

using namespace troupe;
using namespace troupe::actors;
using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;
using test::Cluster;

namespace {

constexpr std::chrono::milliseconds stable = 5s;

NodeInfo with_data(const std::string& address, const std::string& fingerprint) {
  return {.address = address,
          .data = "data of " + address,
          .version = "1",
          .training = {fingerprint, 100}};
}

/// Two of at most four nodes, which train on the same data.
struct Training : Cluster {
  Training() : Cluster{2, 4, false, 1, stable} {
    a = come(with_data("a:1", "good"));
    b = come(with_data("b:1", "good"));
    lead();
  }
  std::shared_ptr<test::JoinContext> come(const NodeInfo& info) {
    auto daemon = start(info);
    run();
    return daemon;
  }
  /// Lets a node join that reports its link to a:1 as broken; all other links work.
  std::shared_ptr<test::JoinContext> come_unreachable(const std::string& address) {
    auto daemon = start(with_data(address, "good"));
    daemon->broken = {{address, "a:1", "connection refused"}};
    run();
    return daemon;
  }
  std::ptrdiff_t lines_about(const std::string& address) const {
    return std::ranges::count_if(
        said, [&](const std::string& line) { return line.find(address) != std::string::npos; });
  }

  std::shared_ptr<test::JoinContext> a, b;
};

void check_refused(const test::JoinContext& node, Errc code, const std::string& why) {
  REQUIRE(node.assignment);
  REQUIRE(node.assignment->refused);
  CHECK(node.assignment->refused->code == code);
  CHECK_THAT(node.assignment->refused->message, ContainsSubstring(why));
}

} // namespace

TEST_CASE("a node with other training data is refused before the job halts, and logged once") {
  Training job;
  const auto before = job.said.size();
  for (int i = 0; i < 3; ++i) {
    const auto c = job.come(with_data("c:1", "bad"));
    check_refused(*c, Errc::data, "fingerprint bad");
    CHECK_THAT(c->assignment->refused->message, ContainsSubstring("fingerprint good"));
    CHECK(c->probes.empty());
  }
  CHECK(job.said.size() == before + 1);
  CHECK(job.told->halts == 0);
  CHECK(job.a->probes.size() == 1); // from the join of b:1
}

TEST_CASE("a node with other training data is refused before the first generation") {
  Cluster cluster{2};
  const auto a = cluster.start(with_data("a:1", "good"));
  cluster.run();
  const auto other = cluster.start(with_data("b:1", "bad"));
  cluster.run();
  check_refused(*other, Errc::data, "data.root");
  CHECK_FALSE(a->assignment);
  auto fewer = with_data("b:1", "good");
  fewer.training.samples = 99;
  const auto second = cluster.start(fewer);
  cluster.run();
  check_refused(*second, Errc::data, "99 training samples");
  const auto third = cluster.start(with_data("c:1", "good"));
  cluster.run();
  REQUIRE(a->assignment);
  CHECK_FALSE(a->assignment->refused);
  CHECK(third->assignment->generation.training == training::TrainingData{"good", 100});
}

TEST_CASE("a restarted leader with other data is refused, not the nodes that trained") {
  Cluster cluster{3};
  const auto leader = cluster.start(with_data("a:1", "bad"));
  cluster.run();
  auto ahead = with_data("b:1", "good");
  ahead.offer = {.step = 40, .travels = true};
  const auto follower = cluster.start(ahead);
  cluster.run();
  check_refused(*leader, Errc::data, "fingerprint bad");
  check_refused(*follower, Errc::network, "data.root");
}

TEST_CASE("a node that data connections cannot reach is refused, and the others continue") {
  Training job;
  const auto halts = job.told->halts;
  const auto c = job.come_unreachable("c:1");
  check_refused(*c, Errc::network, "c:1 to a:1: connection refused");
  CHECK_THAT(c->assignment->refused->message, ContainsSubstring("cluster.listen.advertise"));
  CHECK(job.lines_about("c:1") == 1);
  job.pass(stable);
  CHECK(job.told->halts == halts);
  job.a->broken = {{"a:1", "d:1", "no answer"}};
  check_refused(*job.come(with_data("d:1", "good")), Errc::network, "a:1 to d:1: no answer");
  CHECK(job.told->halts == halts);
}

TEST_CASE("links are tested in both directions, with a ticket instead of the job's secret") {
  Training job;
  const auto c = job.come(with_data("c:1", "good"));
  REQUIRE(c->probes.size() == 1);
  REQUIRE(c->probes[0].to.size() == 2);
  CHECK(c->probes[0].to[0].node == "a:1");
  CHECK(c->probes[0].to[1].data == "data of b:1");
  for (const auto& member : {job.a, job.b}) {
    const auto& order = member->probes.back();
    CHECK(order.ticket == c->probes[0].ticket);
    REQUIRE(order.to.size() == 1);
    CHECK(order.to[0].data == "data of c:1");
    CHECK(order.ticket != member->assignment->generation.secret);
  }
}

TEST_CASE("a running job halts for a node that stayed connected and passed a second test") {
  Training job;
  const auto c = job.come(with_data("c:1", "good"));
  job.pass(stable - 1ms);
  CHECK(job.told->halts == 0);
  CHECK(c->probes.size() == 1);
  job.pass(1ms);
  REQUIRE(c->probes.size() == 3); // the last probe only asks whether the node answers
  CHECK(c->probes[1].to.size() == 2);
  CHECK(c->probes[1].ticket != c->probes[0].ticket);
  CHECK(c->probes[2].to.empty());
  CHECK(job.told->halts == 1);
  job.lead();
  CHECK(c->assignment->generation.nodes.size() == 3);
}

TEST_CASE("a node that leaves or loses a link before it is stable does not halt the job") {
  Training job;
  job.come(with_data("c:1", "good"));
  const auto d = job.come(with_data("d:1", "good"));
  job.pass(stable / 2);
  job.kill("c:1");
  const auto c = job.come(with_data("c:1", "good")); // its time starts again
  d->broken = {{"d:1", "b:1", "no answer"}};
  job.pass(stable / 2);
  check_refused(*d, Errc::network, "d:1 to b:1");
  CHECK(job.told->halts == 0);
  job.pass(stable / 2);
  CHECK(job.told->halts == 1);
}

TEST_CASE("a job that is not training does not wait for a node to be stable") {
  Training job;
  const auto c = job.come(with_data("c:1", "good"));
  job.kill("b:1"); // fewer than min_nodes remain
  REQUIRE(c->assignment);
  CHECK_FALSE(c->assignment->refused);
  CHECK(c->assignment->generation.nodes.size() == 2);
}

TEST_CASE("a data port that was unreachable is tested again after a minute") {
  Training job;
  check_refused(*job.come_unreachable("c:1"), Errc::network, "connection refused");
  const auto dials = job.a->probes.size();
  const auto again = job.come(with_data("c:1", "good"));
  check_refused(*again, Errc::network, "connection refused");
  CHECK(again->probes.empty());
  CHECK(job.a->probes.size() == dials);
  CHECK(job.lines_about("c:1") == 1);
  job.pass(Recent::time_kept);
  const auto later = job.come(with_data("c:1", "good"));
  CHECK(later->probes.size() == 1);
  job.pass(stable);
  CHECK(job.told->halts == 1);
}

TEST_CASE("a data port that was reachable before is tested again at once") {
  Training job;
  const auto c = job.come(with_data("c:1", "good"));
  c->broken = {{"c:1", "a:1", "connection refused"}};
  job.pass(stable); // all nodes try again
  check_refused(*c, Errc::network, "connection refused");
  CHECK(job.come_unreachable("c:1")->probes.size() == 1);
  CHECK(job.come_unreachable("c:1")->probes.size() == 1);
  CHECK(job.come_unreachable("d:1")->probes.size() == 1);
  CHECK(job.come_unreachable("d:1")->probes.empty());
}

TEST_CASE("nodes are tested one at a time, and a silent one is refused") {
  Training job;
  const auto c = job.start(with_data("c:1", "good"));
  c->is_silent = true;
  job.run();
  const auto d = job.come(with_data("d:1", "good"));
  CHECK(c->probes.size() == 1);
  CHECK(d->probes.empty());
  CHECK(job.status("d:1") ==
        "waiting until the other nodes have checked their connections to this node");
  job.pass(8s);
  check_refused(*c, Errc::network, "it has not answered");
  CHECK(d->probes.size() == 1);
}

TEST_CASE("a silent member keeps a node out, but for less than a minute") {
  Training job;
  job.b->is_silent = true;
  const auto c = job.come(with_data("c:1", "good"));
  job.pass(20s);
  check_refused(*c, Errc::network, "b:1 to c:1: it has not answered");
  job.b->is_silent = false;
  CHECK(job.come(with_data("c:1", "good"))->probes.size() == 1);
}

TEST_CASE("a node that has stopped answering is left out of the new record") {
  Training job;
  const auto c = job.come(with_data("c:1", "good")), d = job.come(with_data("d:1", "good"));
  job.b->is_stuck = true; // the others wait for it
  job.pass(stable);
  CHECK(job.told->halts == 1);
  CHECK_FALSE(d->assignment);
  c->is_silent = true;
  job.kill("b:1");
  job.pass(5s);
  check_refused(*c, Errc::network, "no longer answers");
  REQUIRE(d->assignment);
  CHECK(d->assignment->generation.nodes.size() == 2);
}

TEST_CASE("a node that is still being tested is told when the job ends, and may leave") {
  Training job;
  const auto c = job.come(with_data("c:1", "good")), d = job.come(with_data("d:1", "good"));
  CHECK_FALSE(job.leave("c:1"));
  check_refused(*c, Errc::stopped, "asked to leave");
  job.finish(JobEnd{.result = {.status = "completed"}, .error = {}});
  REQUIRE(d->end);
  CHECK(d->end->result.status == "completed");
  check_refused(*d, Errc::stopped, "completed");
}
