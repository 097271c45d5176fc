// Tests how followers and the leader leave a job that they were asked to leave.
#include "tests/actors/membership_fixture.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <optional>

using namespace troupe;
using namespace troupe::actors;
using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;
using test::Cluster;

namespace {

/// a:1 leads and trains with b:1 in generation 2; one node is enough.
struct TwoNodes : Cluster {
  explicit TwoNodes(std::int32_t max_nodes) : Cluster{1, max_nodes, true} {
    a = join("a:1");
    b = join("b:1");
    lead(); // b:1 enters the next generation
    lead();
    told->halts = told->saves = 0;
  }
  std::shared_ptr<test::JoinContext> a, b;
};

} // namespace

TEST_CASE("a node that is asked to leaves between two steps, and the others continue") {
  const bool has_spare = GENERATE(false, true);
  Cluster cluster{3};
  const auto a = cluster.join("a:1"), b = cluster.join("b:1"), c = cluster.join("c:1");
  cluster.lead();
  const auto d = has_spare ? cluster.join("d:1") : nullptr;
  CHECK_FALSE(cluster.leave("b:1"));
  CHECK(cluster.told->halts == 1);
  REQUIRE(b->end);
  CHECK(b->end->result.status == "stopped");
  CHECK_FALSE(b->end->error);
  CHECK_FALSE(b->halted);
  CHECK(a->halted->message == "node b:1 was asked to leave");
  if (!has_spare) {
    CHECK(cluster.status("a:1") == "waiting for 1 more node (2 of 3: a:1, c:1)");
    cluster.join("d:1");
  }
  REQUIRE(a->assignment->generation.number == 2);
  CHECK_FALSE(a->assignment->generation.change.is_loss);
  CHECK(a->assignment->generation.node_of(has_spare ? 1 : 2).address == "d:1");
  cluster.kill("b:1");
  CHECK(a->assignment->generation.number == 2);
}

TEST_CASE("the leader cannot leave if the others could not continue") {
  const bool is_alone = GENERATE(true, false);
  CAPTURE(is_alone);
  Cluster cluster{is_alone ? 1 : 2, 3, true};
  const auto a = cluster.join("a:1");
  if (!is_alone)
    cluster.join("b:1");
  cluster.lead();
  const auto refused = cluster.leave("a:1");
  REQUIRE(refused);
  CHECK(refused->code == Errc::invalid_input);
  CHECK(refused->message ==
        (is_alone
             ? "a:1 leads the job, and the job would end if it left: no other node can lead the job"
             : "a:1 leads the job, and the job would end if it left: fewer nodes than "
               "cluster.nodes.min would remain"));
  CHECK(cluster.told->halts == 0);
  CHECK_FALSE(a->end);
}

TEST_CASE("a leader asked to leave while nodes gather leaves when they train") {
  TwoNodes cluster{3};
  REQUIRE(cluster.a->assignment->generation.number == 2);
  cluster.b->is_stuck = true;
  cluster.join("c:1");
  REQUIRE(cluster.leave("a:1")); // without waiting
  cluster.ask_to_leave("a:1", true);
  CHECK(cluster.told->saves == 0);
  cluster.b->is_stuck = false;
  cluster.come_again("b:1", 2);
  cluster.lead();
  CHECK(cluster.told->saves == 1);
  CHECK_FALSE(cluster.a->end);
  CHECK_FALSE(cluster.b->end);
  CHECK_FALSE(cluster.join("d:1")->assignment); // MEMBERSHIP has ended
}

TEST_CASE("a leader that waits for nodes because too few can train may not leave") {
  Cluster cluster{2, 3, true};
  cluster.join("a:1");
  cluster.join("b:1");
  cluster.lead();
  cluster.kill("b:1");
  const auto refused = cluster.leave("a:1", true);
  REQUIRE(refused);
  CHECK_THAT(refused->message,
             ContainsSubstring("a:1 leads the job, and the job would end if it left"));
}

TEST_CASE("a waiting request to leave is refused when the leader's last follower is lost") {
  TwoNodes cluster{2};
  cluster.b->is_stuck = true;
  cluster.report(2, Error{Errc::network, "it failed", {.node = "a:1"}});
  const auto asked = cluster.ask_to_leave("a:1", true);
  cluster.kill("b:1");
  cluster.pass(11s);
  REQUIRE(asked->is_answered);
  CHECK(asked->refused);
}

TEST_CASE("the leader leaves between two steps and takes MEMBERSHIP with it") {
  TwoNodes cluster{2};
  const bool has_ended = GENERATE(false, true);
  if (has_ended)
    cluster.finish(JobEnd{.result = {.status = "completed"}});
  const auto refused = cluster.leave("a:1");
  CHECK(refused.has_value() == has_ended);
  CHECK(cluster.told->saves == (has_ended ? 0 : 1)); // the next leader may leave, too
  CHECK(cluster.b->end.has_value() == has_ended);
  const auto later = cluster.join("c:1");
  CHECK(later->assignment.has_value() == has_ended); // with the reason for the refusal
}

TEST_CASE("a node asked to leave while nodes gather or connect leaves at once") {
  Cluster cluster{2, 3};
  const auto a = cluster.join("a:1"), b = cluster.join("b:1"); // the nodes connect
  CHECK_FALSE(cluster.leave("b:1"));
  CHECK(b->aborted);
  CHECK(b->end);
  const auto c = cluster.join("c:1");
  REQUIRE(c->assignment->generation.number == 2);
  cluster.lead();
  a->is_stuck = true;
  const auto d = cluster.join("d:1");
  CHECK_FALSE(cluster.leave("c:1"));
  CHECK(c->end);
  a->is_stuck = false;
  cluster.come_again("a:1", 2);
  REQUIRE(d->assignment);
  CHECK(d->assignment->generation.nodes[1].address == "d:1");
  CHECK(d->assignment->generation.world_size() == 2);
}

TEST_CASE("a node may leave before the job begins, and the job waits for another one") {
  Cluster cluster{3};
  cluster.join("a:1");
  const auto b = cluster.join("b:1");
  CHECK_FALSE(cluster.leave("b:1"));
  CHECK(b->assignment->refused->code == Errc::stopped);
  cluster.join("c:1");
  CHECK(cluster.status("a:1") == "waiting for 1 more node (2 of 3: a:1, c:1)");
}

TEST_CASE("a node elected after a request to leave waits for the others, then leaves") {
  const bool others_come = GENERATE(true, false);
  Cluster cluster{1, 3, true};
  training::GenerationRecord before{.number = 4, .slices = 12};
  for (const char* address : {"a:1", "b:1", "c:1"}) {
    before.nodes.push_back({.address = address, .workers = 1});
    before.voters.push_back({address, address});
  }
  cluster.rules.before = before;
  cluster.rules.lost = Error{Errc::network, "node a:1 was lost"};
  cluster.begin();
  const auto b = cluster.join("b:1");
  const auto asked = cluster.ask_to_leave("b:1", true);
  if (others_come)
    cluster.join("c:1");
  cluster.pass(5s); // time for nodes that are awaited
  if (others_come)
    cluster.lead();
  cluster.pass(16s);
  REQUIRE(asked->is_answered);
  CHECK(asked->refused.has_value() == !others_come);
}
