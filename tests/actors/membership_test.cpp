#include "actors/caf_error.hpp"
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

TEST_CASE("the job begins when all nodes are there, and says who is waited for") {
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
  // Their ranks connect with what nobody else knows.
  CHECK(a->assignment->generation.secret.size() == 32);
  CHECK(a->assignment->generation.secret == c->assignment->generation.secret);
  CHECK(a->assignment->generation.secret != Cluster{1}.join("a:1")->assignment->generation.secret);
  CHECK(c->assignment->member().data == "c:1");
}

TEST_CASE("who comes when the job has ended is told whether to try again") {
  Cluster failed{1}, completed{1};
  for (auto* cluster : {&failed, &completed}) {
    cluster->join("a:1");
    cluster->lead();
  }
  failed.tell(atom::finish_v, JobEnd{.result = {.status = "failed"},
                                     .error = Error{Errc::network, "node b:1 is gone"}});
  const auto early = failed.join("b:1");
  REQUIRE(early->assignment);
  CHECK(early->assignment->refused->code == Errc::network);
  completed.tell(atom::finish_v, JobEnd{.result = {.status = "completed"}, .error = {}});
  const auto late = completed.join("b:1");
  REQUIRE(late->assignment);
  CHECK(late->assignment->refused->code == Errc::stopped);
  CHECK(late->assignment->refused->message == "the job has ended already: completed");
}

TEST_CASE("a node that comes too late, and with another config, hears what differs") {
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
    "who comes when all places are taken is a spare, and gets the ranks of one that is lost") {
  Cluster cluster{2, 3};
  const auto a = cluster.join("a:1"), b = cluster.join("b:1");
  cluster.lead();
  const auto c = cluster.join("c:1");
  cluster.lead();
  const auto d = cluster.join("d:1"), e = cluster.join("e:1");
  CHECK_FALSE(d->assignment);
  CHECK(cluster.status("d:1") ==
        "waiting as a spare: there are 3 nodes already, and cluster.max_nodes is 3");
  CHECK(cluster.status("a:1").empty());
  CHECK(cluster.told->halts == 1); // for c:1 alone
  cluster.kill("b:1");
  REQUIRE(d->assignment);
  CHECK(d->assignment->member().first_rank == 1);
  CHECK(d->assignment->member().lacks_state == false); // nobody has one here
  CHECK(c->assignment->member().first_rank == 2);
  CHECK(c->assignment->generation.number == 3);
  CHECK(c->assignment->generation.change.is_loss);
  CHECK_FALSE(e->assignment);
  cluster.lead();
  cluster.kill("e:1"); // nobody's loss
  CHECK(c->assignment->generation.number == 3);
  cluster.kill("c:1");
  CHECK(a->assignment->generation.nodes.size() == 2);
}

TEST_CASE("a spare hears how the job has ended, and may leave before") {
  Cluster cluster{1};
  cluster.join("a:1");
  cluster.lead();
  const auto b = cluster.join("b:1"), c = cluster.join("c:1");
  CHECK_FALSE(cluster.leave("b:1"));
  REQUIRE(b->assignment);
  CHECK(b->assignment->refused->code == Errc::stopped);
  CHECK_FALSE(c->assignment);
  cluster.tell(atom::finish_v, JobEnd{.result = {.status = "completed"}, .error = {}});
  REQUIRE(c->assignment);
  CHECK(c->assignment->refused->message == "the job has ended already: completed");
}

TEST_CASE(
    "a job that begins without a part of the state reports it as a change that took no time") {
  Cluster cluster{2};
  NodeInfo info{.address = "a:1", .data = "a:1", .host = {}, .version = "1", .workers = 1};
  info.offer.parts = {{.step = 50, .applied = true, .shards = 2, .retained = {0}}};
  const auto a = cluster.start(info);
  cluster.join("b:1");
  const auto& change = a->assignment->generation.change;
  CHECK(
      change.reason.starts_with("part 2 of 2 of the state after 50 steps is on no node any more"));
  CHECK(change.halt == 0);
}

TEST_CASE("a node that goes before the beginning is waited for again") {
  Cluster cluster{2};
  const auto a = cluster.join("a:1");
  cluster.kill("a:1");
  const auto b = cluster.join("b:1");
  CHECK_FALSE(b->assignment);
  const auto c = cluster.join("c:1");
  REQUIRE(c->assignment);
  CHECK(b->assignment->leads());
}

TEST_CASE("nodes that do not come within the quorum timeout end the waiting") {
  Cluster cluster{2};
  const auto a = cluster.join("a:1");
  REQUIRE(cluster.scheduler.trigger_timeout());
  cluster.scheduler.run();
  REQUIRE(a->assignment);
  REQUIRE(a->assignment->refused);
  CHECK_THAT(a->assignment->refused->message,
             ContainsSubstring("1 of 2: a:1") && ContainsSubstring("cluster.timeouts.quorum"));
}

TEST_CASE("when a node goes in the middle of the job, the others come again without it") {
  Cluster cluster{2, 3};
  const auto a = cluster.join("a:1"), b = cluster.join("b:1");
  cluster.lead();
  const auto secret = a->assignment->generation.secret;
  a->offer = {.step = 7, .travels = true};
  const auto c = cluster.join("c:1");
  REQUIRE(cluster.told->halts == 1); // between two steps
  REQUIRE(c->assignment);
  CHECK(a->halted->message == "another node has come");
  REQUIRE(a->assignment->generation.number == 2);
  CHECK(a->assignment->generation.step == 7);
  CHECK(a->assignment->generation.secret != secret);
  CHECK(c->assignment->member().lacks_state);
  cluster.lead();

  a->offer.step = 9;
  c->offer = {.step = 10, .travels = true}; // it has applied what all had voted for
  cluster.kill("b:1");
  CHECK_THAT(c->halted->message, ContainsSubstring("node b:1 (rank 1) is gone"));
  CHECK(c->halted->where.node == "b:1");
  REQUIRE(c->assignment->generation.number == 3);
  CHECK(c->assignment->generation.world_size() == 2);
  CHECK(a->assignment->leads());
  CHECK(c->assignment->is_source());
  CHECK(a->assignment->member().lacks_state);
  CHECK_FALSE(c->assignment->member().lacks_state);
  CHECK(c->assignment->generation.step == 10);
  CHECK(c->assignment->generation.slices == 12);
  CHECK(cluster.told->failures.empty());
}

TEST_CASE("a node that was cut off, and lives, takes part again as soon as it comes") {
  Cluster cluster{2};
  const auto a = cluster.join("a:1"), b = cluster.join("b:1");
  cluster.lead();
  cluster.cut_off("b:1");
  CHECK(a->halted->message == "node b:1 (rank 1) is gone: its connection was closed");
  CHECK_FALSE(b->end);
  cluster.come_again("b:1", 1);
  REQUIRE(b->assignment);
  CHECK_FALSE(b->assignment->refused);
  CHECK(b->assignment->generation.number == 2);
  CHECK(a->assignment->generation.world_size() == 2);
}

TEST_CASE("without min_nodes the others are waited for, and then what there is is saved") {
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
    while (a->assignment->generation.number == 1 && cluster.scheduler.trigger_timeout())
      cluster.scheduler.run();
  REQUIRE(a->assignment->generation.number == 2);
  cluster.lead();
  CHECK(cluster.told->ending.has_value() == !comes_back);
  if (!comes_back)
    CHECK_THAT(cluster.told->ending->message,
               ContainsSubstring("1 of 2: a:1") && ContainsSubstring("cluster.timeouts.quorum"));
}

TEST_CASE("a node that fails is left behind, and told so; not the leader") {
  Cluster cluster{2, 3};
  const auto a = cluster.join("a:1"), b = cluster.join("b:1");
  cluster.lead();
  cluster.tell(atom::failed_v, std::int64_t{1}, Error{Errc::device, "broken", {.node = "a:1"}});
  CHECK(a->assignment->generation.number == 1);
  cluster.join("c:1");
  REQUIRE(b->assignment->generation.number == 2);
  cluster.lead();
  cluster.tell(atom::failed_v, std::int64_t{2}, Error{Errc::device, "broken", {.node = "b:1"}});
  REQUIRE(b->end);
  CHECK(b->end->error->message == "broken");
  REQUIRE(a->assignment->generation.number == 3);
  CHECK(a->assignment->generation.nodes[1].address == "c:1");
  CHECK_FALSE(a->end);
}

TEST_CASE("who is told late that a generation is over does not end the next one") {
  Cluster cluster{1, 2};
  const auto a = cluster.join("a:1");
  cluster.lead();
  cluster.join("b:1");
  REQUIRE(a->assignment->generation.number == 2);
  cluster.tell(atom::failed_v, std::int64_t{1}, Error{Errc::network, "cut", {.node = "b:1"}});
  CHECK(a->assignment->generation.number == 2);
  CHECK_FALSE(a->end);
}

TEST_CASE("when nobody knows what has failed, all try again, but not for ever") {
  Cluster cluster{2};
  const auto a = cluster.join("a:1"), b = cluster.join("b:1");
  for (std::int64_t generation = 1; generation <= 4; ++generation) {
    REQUIRE(a->assignment->generation.number == generation);
    cluster.lead();
    cluster.tell(atom::failed_v, generation, Error{Errc::collective, "cut", {.node = "b:1"}});
  }
  CHECK(a->assignment->generation.number == 4);
}

TEST_CASE("where steps are made in between, they try again as often as it takes") {
  Cluster cluster{2};
  const auto a = cluster.join("a:1"), b = cluster.join("b:1");
  for (std::int64_t generation = 1; generation <= 6; ++generation) {
    cluster.lead();
    a->offer = {.step = generation, .travels = true};
    cluster.tell(atom::failed_v, generation, Error{Errc::collective, "cut", {.node = "b:1"}});
    REQUIRE(a->assignment->generation.number == generation + 1);
  }
}

TEST_CASE("a node that comes before the job begins, and is one too many, is a spare") {
  Cluster cluster{3, 3, true};
  cluster.join("a:1");
  cluster.join("b:1");
  const auto c = cluster.start("c:1"), d = cluster.start("d:1");
  cluster.scheduler.run();
  REQUIRE(c->assignment);
  CHECK_FALSE(c->assignment->refused);
  CHECK_FALSE(d->assignment);
  CHECK(cluster.status("d:1") ==
        "waiting as a spare: there are 3 nodes already, and cluster.max_nodes is 3");
}

TEST_CASE("a node that is lost while room is made for another is told of as a loss") {
  Cluster cluster{1, 3};
  const auto a = cluster.join("a:1"), b = cluster.join("b:1");
  cluster.lead();
  REQUIRE(b->assignment->generation.number == 2);
  CHECK_FALSE(b->assignment->generation.change.is_loss);
  cluster.lead();
  a->is_stuck = true; // long enough for the other one to go
  const auto c = cluster.join("c:1");
  cluster.kill("b:1");
  REQUIRE_FALSE(c->assignment);
  a->is_stuck = false;
  cluster.come_again("a:1", 2);
  REQUIRE(c->assignment);
  CHECK(c->assignment->generation.change.is_loss);
  CHECK_THAT(c->assignment->generation.change.reason,
             ContainsSubstring("node b:1 (rank 1) is gone"));
}

TEST_CASE("a node that does not come again is left behind") {
  Cluster cluster{2, 3};
  const auto a = cluster.join("a:1"), b = cluster.join("b:1");
  cluster.lead();
  b->is_stuck = true;
  const auto c = cluster.join("c:1");
  CHECK(cluster.status("a:1") == "waiting for b:1 to come together again");
  while (!c->assignment && cluster.scheduler.trigger_timeout())
    cluster.scheduler.run();
  REQUIRE(c->assignment);
  CHECK(c->assignment->generation.nodes[1].address == "c:1");
  REQUIRE(b->end);
  CHECK_THAT(b->end->error->message, ContainsSubstring("cluster.timeouts.form"));
  b->is_stuck = false;
  cluster.come_again("b:1", 1);
  REQUIRE(b->assignment->refused);
  CHECK(b->assignment->refused->code == Errc::stopped); // its daemon ends
}

TEST_CASE("a node for which there are no slices has to wait") {
  Cluster cluster{1, 20};
  cluster.join("a:1");
  cluster.lead();
  for (int node = 1; node < 12; ++node) {
    REQUIRE(cluster.join(fmt::format("b:{}", node))->assignment);
    cluster.lead();
  }
  CHECK_FALSE(cluster.join("c:1")->assignment);
  CHECK_THAT(cluster.status("c:1"), ContainsSubstring("12 slices of a global batch"));
}

TEST_CASE("a node that fails before there is a coordinator ends the job for all") {
  Cluster cluster{2};
  const auto a = cluster.join("a:1"), b = cluster.join("b:1");
  cluster.tell(atom::failed_v, std::int64_t{1}, Error{Errc::data, "no data here"});
  REQUIRE(a->end);
  REQUIRE(b->end);
  CHECK(b->end->result.status == "failed");
  CHECK(b->end->error->message == "no data here");
}

TEST_CASE("the end of the job is told to all, and nodes may go then") {
  Cluster cluster{2};
  const auto a = cluster.join("a:1"), b = cluster.join("b:1");
  cluster.lead();
  cluster.tell(atom::finish_v, JobEnd{.result = {.status = "completed"}, .error = {}});
  REQUIRE(b->end);
  CHECK(b->end->result.status == "completed");
  cluster.kill("b:1");
  CHECK(cluster.told->failures.empty());
}

TEST_CASE(
    "asked to stop, it waits for no more nodes, and passes it on once there is a coordinator") {
  Cluster waiting{2};
  const auto a = waiting.join("a:1");
  waiting.tell(atom::stop_v);
  REQUIRE(a->assignment);
  CHECK(a->assignment->refused->code == Errc::stopped);

  Cluster built{1};
  built.join("a:1");
  built.tell(atom::stop_v);
  CHECK(built.told->stops == 0);
  built.lead();
  CHECK(built.told->stops == 1);
}

TEST_CASE("who tells the end is answered when all members have heard it, or are gone") {
  const bool dies = GENERATE(false, true);
  Cluster cluster{2};
  cluster.join("a:1");
  const auto slow = cluster.join("b:1");
  cluster.lead();
  slow->slow = true;
  bool answered = false;
  cluster.system.spawn([&](caf::event_based_actor* leader) {
    leader
        ->request(cluster.membership, caf::infinite, atom::finish_v,
                  JobEnd{.result = {.status = "stopped"}, .error = {}})
        .then([&] { answered = true; });
  });
  cluster.scheduler.run();
  CHECK(slow->end);
  CHECK_FALSE(answered);
  if (dies)
    cluster.kill("b:1");
  else
    REQUIRE(cluster.scheduler.trigger_timeout());
  cluster.scheduler.run();
  CHECK(answered);
}

TEST_CASE("asked to stop while nodes still connect, it tells those who wait for others") {
  Cluster cluster{2};
  const auto a = cluster.join("a:1"), b = cluster.join("b:1");
  cluster.tell(atom::stop_v);
  REQUIRE(a->aborted);
  CHECK(a->aborted->code == Errc::stopped);
  // Who goes then has done what it was asked.
  cluster.kill("b:1");
  CHECK_FALSE(a->end);
}

TEST_CASE("a request for a place that names no node is refused") {
  Cluster cluster{1};
  bool is_refused = false;
  auto asked = cluster.self->request(cluster.membership, caf::infinite, atom::join_v,
                                     NodeInfo{.address = "a:1", .version = "1"}, member_actor{});
  cluster.scheduler.run();
  asked.receive([](const training::NodeAssignment&) {},
                [&](const caf::error&) { is_refused = true; });
  CHECK(is_refused);
  CHECK(cluster.join("b:1")->assignment);
}
