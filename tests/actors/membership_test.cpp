#include "tests/actors/membership_fixture.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <fmt/format.h>

using namespace troupe;
using namespace troupe::actors;
using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;
using test::Cluster;

TEST_CASE("the job begins when all nodes have joined, and until then reports the missing ones") {
  Cluster cluster{3};
  const auto a = cluster.join("a:1"), b = cluster.join("b:1");
  CHECK_FALSE(a->assignment);
  CHECK(cluster.said.back() == "waiting for 1 more node (2 of 3: a:1, b:1)");
  const auto c = cluster.join("c:1");
  REQUIRE(a->assignment);
  REQUIRE(c->assignment);
  CHECK_FALSE(a->assignment->refused);
  CHECK(a->assignment->leads());
  CHECK_FALSE(c->assignment->leads());
  CHECK(c->assignment->member().address == "c:1");
  CHECK(c->assignment->member().first_rank == 2);
  // The ranks connect with a secret that no other process knows.
  CHECK(a->assignment->generation.secret.size() == 32);
  CHECK(a->assignment->generation.secret == c->assignment->generation.secret);
  CHECK(a->assignment->generation.secret != Cluster{1}.join("a:1")->assignment->generation.secret);
  CHECK(c->assignment->member().data == "c:1");
}

TEST_CASE("a node that comes after the job's end is told whether to try again") {
  Cluster failed{1}, completed{1};
  for (auto* cluster : {&failed, &completed}) {
    cluster->join("a:1");
    cluster->lead();
  }
  failed.finish(
      JobEnd{.result = {.status = "failed"}, .error = Error{Errc::network, "node b:1 was lost"}});
  const auto early = failed.join("b:1");
  REQUIRE(early->assignment);
  CHECK(early->assignment->refused->code == Errc::network);
  completed.finish(JobEnd{.result = {.status = "completed"}, .error = {}});
  const auto late = completed.join("b:1");
  REQUIRE(late->assignment);
  CHECK(late->assignment->refused->code == Errc::stopped);
  CHECK(late->assignment->refused->message == "the job has ended already: completed");
}

TEST_CASE("a node that comes late with another config is told what differs") {
  Cluster cluster{2};
  cluster.join("a:1", {{"seed", "1"}});
  cluster.join("b:1", {{"seed", "1"}});
  const auto other = cluster.join("c:1", {{"seed", "2"}});
  REQUIRE(other->assignment);
  REQUIRE(other->assignment->refused);
  CHECK_THAT(other->assignment->refused->message,
             ContainsSubstring("seed: 2 here, 1 at the leader"));
}

TEST_CASE(
    "a node that comes to a full job becomes a spare and takes over the ranks of a lost one") {
  Cluster cluster{2, 3};
  const auto a = cluster.join("a:1"), b = cluster.join("b:1");
  cluster.lead();
  const auto c = cluster.join("c:1");
  cluster.lead();
  const auto d = cluster.join("d:1"), e = cluster.join("e:1");
  CHECK_FALSE(d->assignment);
  CHECK(cluster.status("d:1") ==
        "waiting as a spare: there are 3 nodes already, and cluster.nodes.max is 3");
  CHECK(cluster.status("a:1").empty());
  CHECK(cluster.told->halts == 1); // only for c:1
  cluster.kill("b:1");
  REQUIRE(d->assignment);
  CHECK(d->assignment->member().first_rank == 1);
  CHECK(d->assignment->member().lacks_state == false); // no node has a state here
  CHECK(c->assignment->member().first_rank == 2);
  CHECK(c->assignment->generation.number == 3);
  CHECK(c->assignment->generation.change.is_loss);
  CHECK_FALSE(e->assignment);
  cluster.lead();
  cluster.kill("e:1"); // no node of the generation is lost
  CHECK(c->assignment->generation.number == 3);
  cluster.kill("c:1");
  CHECK(a->assignment->generation.nodes.size() == 2);
}

TEST_CASE("a spare is told how the job ended, and may leave earlier") {
  Cluster cluster{1};
  cluster.join("a:1");
  cluster.lead();
  const auto b = cluster.join("b:1"), c = cluster.join("c:1");
  CHECK_FALSE(cluster.leave("b:1"));
  REQUIRE(b->assignment);
  CHECK(b->assignment->refused->code == Errc::stopped);
  CHECK_FALSE(c->assignment);
  cluster.finish(JobEnd{.result = {.status = "completed"}, .error = {}});
  REQUIRE(c->assignment);
  CHECK(c->assignment->refused->message == "the job has ended already: completed");
}

TEST_CASE("a job that begins without a shard of its state reports a change with no halt time") {
  Cluster cluster{2};
  NodeInfo info{.address = "a:1", .data = "a:1", .host = {}, .version = "1", .workers = 1};
  info.offer.parts = {{.step = 50, .applied = true, .shards = 2, .retained = {0}}};
  const auto a = cluster.start(info);
  cluster.join("b:1");
  const auto& change = a->assignment->generation.change;
  CHECK(change.reason.starts_with("shard 2 of 2 of the state after 50 steps is lost"));
  CHECK(change.halt == 0);
}

TEST_CASE("a node that leaves before the job begins is waited for again") {
  Cluster cluster{2};
  const auto a = cluster.join("a:1");
  cluster.kill("a:1");
  const auto b = cluster.join("b:1");
  CHECK_FALSE(b->assignment);
  const auto c = cluster.join("c:1");
  REQUIRE(c->assignment);
  CHECK(b->assignment->leads());
}

TEST_CASE("waiting for nodes ends after the quorum timeout") {
  Cluster cluster{2};
  const auto a = cluster.join("a:1");
  REQUIRE(cluster.expire_next());
  cluster.run();
  REQUIRE(a->assignment);
  REQUIRE(a->assignment->refused);
  CHECK_THAT(a->assignment->refused->message,
             ContainsSubstring("1 of 2: a:1") && ContainsSubstring("cluster.timeouts.quorum"));
}

TEST_CASE("when a node is lost during the job, the others build a generation without it") {
  Cluster cluster{2, 3};
  const auto a = cluster.join("a:1"), b = cluster.join("b:1");
  cluster.lead();
  const auto secret = a->assignment->generation.secret;
  a->offer = {.step = 7, .travels = true};
  const auto c = cluster.join("c:1");
  REQUIRE(cluster.told->halts == 1); // between two steps
  REQUIRE(c->assignment);
  CHECK(a->halted->message == "another node has joined");
  REQUIRE(a->assignment->generation.number == 2);
  CHECK(a->assignment->generation.step == 7);
  CHECK(a->assignment->generation.secret != secret);
  CHECK(c->assignment->member().lacks_state);
  cluster.lead();

  a->offer.step = 9;
  c->offer = {.step = 10, .travels = true}; // it has applied a step that all ranks had voted for
  cluster.kill("b:1");
  CHECK_THAT(c->halted->message, ContainsSubstring("node b:1 (rank 1) was lost"));
  CHECK(c->halted->where.node == "b:1");
  REQUIRE(c->assignment->generation.number == 3);
  CHECK(c->assignment->generation.world_size() == 2);
  CHECK(a->assignment->leads());
  CHECK(c->assignment->is_source());
  CHECK(a->assignment->member().lacks_state);
  CHECK_FALSE(c->assignment->member().lacks_state);
  CHECK(c->assignment->generation.step == 10);
  CHECK(c->assignment->generation.slices == 12);
}

TEST_CASE("a node that was cut off but still runs joins again at once") {
  Cluster cluster{2};
  const auto a = cluster.join("a:1"), b = cluster.join("b:1");
  cluster.lead();
  cluster.cut_off("b:1");
  CHECK(a->halted->message == "node b:1 (rank 1) was lost: its connection was closed");
  CHECK_FALSE(b->end);
  cluster.come_again("b:1", 1);
  REQUIRE(b->assignment);
  CHECK_FALSE(b->assignment->refused);
  CHECK(b->assignment->generation.number == 2);
  CHECK(a->assignment->generation.world_size() == 2);
}

TEST_CASE("with fewer than min_nodes the job waits for more, then saves its state and ends") {
  const bool comes_back = GENERATE(true, false);
  Cluster cluster{2};
  const auto a = cluster.join("a:1"), b = cluster.join("b:1");
  cluster.lead();
  a->offer = {.step = 7, .travels = true};
  cluster.kill("b:1");
  CHECK(cluster.said.back() == "waiting for 1 more node (1 of 2: a:1)");
  REQUIRE(a->assignment->generation.number == 1);
  if (comes_back)
    REQUIRE(cluster.join("b:1")->assignment->member().lacks_state);
  else
    while (a->assignment->generation.number == 1 && cluster.expire_next())
      cluster.run();
  REQUIRE(a->assignment->generation.number == 2);
  cluster.lead();
  CHECK(cluster.told->ending.has_value() == !comes_back);
  if (!comes_back)
    CHECK_THAT(cluster.told->ending->message,
               ContainsSubstring("1 of 2: a:1") && ContainsSubstring("cluster.timeouts.quorum"));
}

TEST_CASE("a node that fails is left behind and told why, unless it leads") {
  Cluster cluster{2, 3};
  const auto a = cluster.join("a:1"), b = cluster.join("b:1");
  cluster.lead();
  cluster.report(1, Error{Errc::device, "broken", {.node = "a:1"}});
  CHECK(a->assignment->generation.number == 1);
  cluster.join("c:1");
  REQUIRE(b->assignment->generation.number == 2);
  cluster.lead();
  cluster.report(2, Error{Errc::device, "broken", {.node = "b:1"}});
  REQUIRE(b->end);
  CHECK(b->end->error->message == "broken");
  REQUIRE(a->assignment->generation.number == 3);
  CHECK(a->assignment->generation.nodes[1].address == "c:1");
  CHECK_FALSE(a->end);
}

TEST_CASE("a late report about an ended generation does not end the next one") {
  Cluster cluster{1, 2};
  const auto a = cluster.join("a:1");
  cluster.lead();
  cluster.join("b:1");
  REQUIRE(a->assignment->generation.number == 2);
  cluster.report(1, Error{Errc::network, "cut", {.node = "b:1"}});
  CHECK(a->assignment->generation.number == 2);
  CHECK_FALSE(a->end);
}

TEST_CASE("if the cause of a failure is unknown, all try again a limited number of times") {
  Cluster cluster{2};
  const auto a = cluster.join("a:1"), b = cluster.join("b:1");
  for (std::int64_t generation = 1; generation <= 4; ++generation) {
    REQUIRE(a->assignment->generation.number == generation);
    cluster.lead();
    cluster.report(generation, Error{Errc::collective, "cut", {.node = "b:1"}});
  }
  CHECK(a->assignment->generation.number == 4);
}

TEST_CASE("if steps are made between failures, the attempts are not limited") {
  Cluster cluster{2};
  const auto a = cluster.join("a:1"), b = cluster.join("b:1");
  for (std::int64_t generation = 1; generation <= 6; ++generation) {
    cluster.lead();
    a->offer = {.step = generation, .travels = true};
    cluster.report(generation, Error{Errc::collective, "cut", {.node = "b:1"}});
    REQUIRE(a->assignment->generation.number == generation + 1);
  }
}

TEST_CASE("a node that comes to a full job before it begins becomes a spare") {
  Cluster cluster{3, 3, true};
  cluster.join("a:1");
  cluster.join("b:1");
  const auto c = cluster.start("c:1"), d = cluster.start("d:1");
  cluster.run();
  REQUIRE(c->assignment);
  CHECK_FALSE(c->assignment->refused);
  CHECK_FALSE(d->assignment);
  CHECK(cluster.status("d:1") ==
        "waiting as a spare: there are 3 nodes already, and cluster.nodes.max is 3");
}

TEST_CASE("a node lost during a halt for another node is reported as a loss") {
  Cluster cluster{1, 3};
  const auto a = cluster.join("a:1"), b = cluster.join("b:1");
  cluster.lead();
  REQUIRE(b->assignment->generation.number == 2);
  CHECK_FALSE(b->assignment->generation.change.is_loss);
  cluster.lead();
  a->is_stuck = true; // until the other node is lost
  const auto c = cluster.join("c:1");
  cluster.kill("b:1");
  REQUIRE_FALSE(c->assignment);
  a->is_stuck = false;
  cluster.come_again("a:1", 2);
  REQUIRE(c->assignment);
  CHECK(c->assignment->generation.change.is_loss);
  CHECK_THAT(c->assignment->generation.change.reason,
             ContainsSubstring("node b:1 (rank 1) was lost"));
}

TEST_CASE("a node that does not join again is left behind") {
  Cluster cluster{2, 3};
  const auto a = cluster.join("a:1"), b = cluster.join("b:1");
  cluster.lead();
  b->is_stuck = true;
  const auto c = cluster.join("c:1");
  CHECK(cluster.status("a:1") == "waiting for b:1 to rejoin");
  while (!c->assignment && cluster.expire_next())
    cluster.run();
  REQUIRE(c->assignment);
  CHECK(c->assignment->generation.nodes[1].address == "c:1");
  REQUIRE(b->end);
  CHECK_THAT(b->end->error->message, ContainsSubstring("cluster.timeouts.rejoin"));
  b->is_stuck = false;
  cluster.come_again("b:1", 1);
  REQUIRE(b->assignment->refused);
  CHECK(b->assignment->refused->code == Errc::stopped); // its daemon ends
}

TEST_CASE("a node that does not join again is left behind before the others give up") {
  Cluster cluster{1, 3};
  cluster.rules.timeouts.rejoin = test::quorum;
  cluster.begin();
  const auto a = cluster.join("a:1");
  cluster.lead();
  const auto b = cluster.join("b:1");
  cluster.lead();
  cluster.join("c:1");
  cluster.lead();
  b->is_stuck = true;
  cluster.kill("c:1");
  cluster.pass(test::quorum);
  CHECK(a->assignment->generation.number == 4);
  CHECK(a->assignment->generation.nodes.size() == 1);
  cluster.lead();
  CHECK_FALSE(cluster.told->ending);
}

TEST_CASE("a node without slices waits") {
  Cluster cluster{1, 20};
  cluster.join("a:1");
  cluster.lead();
  for (int node = 1; node < 12; ++node) {
    REQUIRE(cluster.join(fmt::format("b:{}", node))->assignment);
    cluster.lead();
  }
  CHECK_FALSE(cluster.join("c:1")->assignment);
  CHECK_THAT(cluster.status("c:1"), ContainsSubstring("the 12 slices of a global batch"));
}

TEST_CASE("a node that fails before there is a COORDINATOR ends the job") {
  Cluster cluster{2};
  const auto a = cluster.join("a:1"), b = cluster.join("b:1");
  cluster.report(1, Error{Errc::data, "no data here"});
  REQUIRE(a->end);
  REQUIRE(b->end);
  CHECK(b->end->result.status == "failed");
  CHECK(b->end->error->message == "no data here");
}

TEST_CASE("all nodes are told the end of the job and may leave then") {
  Cluster cluster{2};
  const auto a = cluster.join("a:1"), b = cluster.join("b:1");
  cluster.lead();
  cluster.finish(JobEnd{.result = {.status = "completed"}, .error = {}});
  REQUIRE(b->end);
  CHECK(b->end->result.status == "completed");
  cluster.kill("b:1");
}

TEST_CASE("a stop ends the wait for nodes, and is passed on once there is a COORDINATOR") {
  Cluster waiting{2};
  const auto a = waiting.join("a:1");
  waiting.stop();
  REQUIRE(a->assignment);
  CHECK(a->assignment->refused->code == Errc::stopped);

  Cluster built{1};
  built.join("a:1");
  built.stop();
  CHECK(built.told->stops == 0);
  built.lead();
  CHECK(built.told->stops == 1);
}

TEST_CASE("reporting the end is answered once every member has heard it or is lost") {
  const bool dies = GENERATE(false, true);
  Cluster cluster{2};
  cluster.join("a:1");
  const auto slow = cluster.join("b:1");
  cluster.lead();
  slow->slow = true;
  const auto asked = cluster.finish(JobEnd{.result = {.status = "stopped"}, .error = {}});
  CHECK(slow->end);
  CHECK_FALSE(asked->is_answered);
  if (dies)
    cluster.kill("b:1");
  else
    REQUIRE(cluster.expire_next());
  cluster.run();
  CHECK(asked->is_answered);
}

TEST_CASE("a stop while nodes connect cancels nodes that wait for others") {
  Cluster cluster{2};
  const auto a = cluster.join("a:1"), b = cluster.join("b:1");
  cluster.stop();
  REQUIRE(a->aborted);
  CHECK(a->aborted->code == Errc::stopped);
  // A node that is lost now has ended as requested.
  cluster.kill("b:1");
  CHECK_FALSE(a->end);
}
