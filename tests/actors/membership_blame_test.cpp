// Tests which node is blamed for a failure between nodes, and how it returns.
#include "tests/actors/membership_fixture.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <fmt/format.h>

#include <algorithm>

using namespace troupe;
using namespace troupe::actors;
using Catch::Matchers::ContainsSubstring;
using test::Cluster;

namespace {

/// Training nodes a:1, b:1, ...; two of them are enough for the job to continue.
struct TrainingJob : Cluster {
  explicit TrainingJob(int nodes, bool decides = false) : Cluster{2, nodes, decides} {
    for (int i = 0; i < nodes; ++i) {
      daemons.push_back(join(fmt::format("{}:1", static_cast<char>('a' + i))));
      if (i > 0)
        lead();
    }
    REQUIRE(std::ssize(record().nodes) == nodes);
    told->halts = 0;
  }
  test::JoinContext& operator[](std::size_t node) { return *daemons[node]; }
  const training::GenerationRecord& record() const {
    return daemons.front()->assignment->generation;
  }
  std::vector<std::string> trains() const {
    std::vector<std::string> all;
    for (const auto& place : record().nodes)
      all.push_back(place.address);
    return all;
  }
  void report(Errc code, const std::string& node) {
    Cluster::report(record().number, Error{code, "it failed", {.node = node}});
  }
  std::vector<std::shared_ptr<test::JoinContext>> daemons;
};

using Addresses = std::vector<std::string>;

} // namespace

TEST_CASE("after a network failure the node with the broken link is left out, whichever node "
          "reports it") {
  const auto code = GENERATE(Errc::network, Errc::collective);
  const std::string reporter = GENERATE("a:1", "b:1", "d:1");
  CAPTURE(reporter);
  TrainingJob job{4};
  job.cuts.insert({"b:1", "c:1"}); // one direction is enough
  job.report(code, reporter);
  REQUIRE(job[2].assignment->refused);
  CHECK(job[2].assignment->left_out);
  CHECK(job[2].assignment->refused->code == Errc::network);
  CHECK(job[2].assignment->refused->message ==
        "left out: the data port of c:1 cannot be reached from b:1: no connection within 5s");
  CHECK_FALSE(job[2].end); // its daemon stays
  CHECK(job.trains() == Addresses{"a:1", "b:1", "d:1"});
  CHECK_THAT(job.record().change.reason, ContainsSubstring("it failed; node c:1 is left out: "));
  CHECK(job.record().change.is_loss);
}

TEST_CASE("a node that no other node reaches is left out, not the nodes that report it") {
  TrainingJob job{4};
  for (const char* other : {"a:1", "c:1", "d:1"})
    job.cuts.insert({other, "b:1"});
  job.report(Errc::network, "c:1");
  CHECK(job[1].assignment->left_out);
  CHECK(job.trains() == Addresses{"a:1", "c:1", "d:1"});
}

TEST_CASE("the node with the last copy of a shard is not left out") {
  TrainingJob job{3};
  const auto holds = [&](std::size_t node, std::vector<std::int32_t> held) {
    job[node].offer.parts = {
        {.step = 9, .applied = true, .shards = 3, .retained = std::move(held)}};
  };
  holds(0, {0, 1});
  holds(1, {1});
  holds(2, {2});
  job.cut("b:1", "c:1");
  job.report(Errc::collective, "b:1");
  CHECK(job[1].assignment->left_out);
  CHECK(job.trains() == Addresses{"a:1", "c:1"});
  CHECK(job.record().step == 9);
}

TEST_CASE("a broken link in the first generation does not end the job, which waits for the node") {
  Cluster cluster{3};
  const auto a = cluster.join("a:1"), b = cluster.join("b:1"), c = cluster.join("c:1");
  cluster.cut("a:1", "c:1");
  cluster.report(1, Error{Errc::network, "no way to c:1", {.node = "a:1"}});
  CHECK_FALSE(a->end);
  CHECK(c->assignment->left_out);
  CHECK(cluster.said.back() == "waiting for 1 more node (2 of 3: a:1, b:1)");
  cluster.cuts.clear();
  cluster.ask_again("c:1");
  REQUIRE(a->assignment->generation.number == 2);
  CHECK(a->assignment->generation.nodes.size() == 3);
}

TEST_CASE("a link that breaks while nodes connect is found before a rank reports it") {
  Cluster cluster{3};
  const auto a = cluster.join("a:1"), b = cluster.join("b:1"), c = cluster.join("c:1");
  const auto before = b->probes.size();
  cluster.pass(test::rejoin);
  CHECK(b->probes.size() == before + 1);
  CHECK(a->assignment->generation.number == 1); // the nodes are only slow
  cluster.cut("b:1", "c:1");
  cluster.pass(test::rejoin);
  CHECK(c->assignment->left_out);
  CHECK_FALSE(b->assignment->refused);
}

TEST_CASE("when all links work, the node that the others waited for is left out") {
  TrainingJob job{3};
  const bool link_is_broken = GENERATE(false, true);
  if (link_is_broken) // a broken link explains more
    job.cut("a:1", "c:1");
  job.Cluster::report(
      job.record().number,
      SharedFailure{{Errc::collective, "no word for 60s", {.node = "c:1"}}, {"b:1"}});
  const std::size_t blamed = link_is_broken ? 2 : 1;
  CHECK(job[blamed].assignment->left_out);
  CHECK(job.record().nodes.size() == 2);
  if (!link_is_broken)
    CHECK_THAT(job[1].assignment->refused->message,
               ContainsSubstring("b:1 sent less data than the other nodes, which waited for it"));
}

TEST_CASE("when no node can be blamed, all try again a limited number of times") {
  TrainingJob job{3};
  const auto first = job.record().number;
  const auto probes = job[1].probes.size();
  const auto code = GENERATE(Errc::network, Errc::collective);
  for (int times = 0; times < 3; ++times) {
    job.report(code, "b:1");
    REQUIRE(job.record().number == first + times + 1);
    CHECK(job.record().nodes.size() == 3);
    job.lead();
  }
  job.report(code, "b:1");
  CHECK(job.record().number == first + 3);
  CHECK(job[1].probes.size() == probes + 3);
}

TEST_CASE("a leader at fault is left out if another node can lead") {
  const bool another_can = GENERATE(true, false);
  TrainingJob job{4, another_can};
  for (const char* other : {"b:1", "c:1", "d:1"})
    job.cuts.insert({"a:1", other});
  job.report(Errc::network, "d:1");
  CHECK(job[0].assignment->left_out == another_can);
  CHECK(job.is_over == another_can);
  for (std::size_t node = 1; node < 4; ++node)
    CHECK(job[node].assignment->left_out == !another_can);
  CHECK_FALSE(job[0].end);
}

TEST_CASE("a node that was left out returns with a new attempt, not with a previous one") {
  TrainingJob job{3};
  job.cut("b:1", "c:1");
  job.report(Errc::network, "b:1");
  job.lead();
  REQUIRE(job.trains() == Addresses{"a:1", "b:1"});
  job.cuts.clear();
  const auto replay = [&](const char* address, const char* process) {
    return job.replay({.address = address, .version = "1", .process = process, .attempt = 1});
  };
  for (const auto& assignment : {replay("c:1", "3"), replay("b:1", "2")}) {
    REQUIRE(assignment);
    REQUIRE(assignment->refused);
    CHECK(assignment->refused->code == Errc::stopped);
    CHECK_FALSE(assignment->left_out);
  }
  CHECK(job.told->halts == 0);
  job.ask_again("c:1");
  CHECK(job.told->halts == 1);
  CHECK(job.trains() == Addresses{"a:1", "b:1", "c:1"});
}

TEST_CASE("the job limits how often it halts for a returning node") {
  TrainingJob job{3};
  const auto come_and_go = [&] {
    job.cut("b:1", "c:1");
    job.report(Errc::network, "b:1");
    job.lead();
    REQUIRE(job.trains() == Addresses{"a:1", "b:1"});
    job.cuts.clear();
    job.ask_again("c:1");
  };
  come_and_go();
  CHECK(job.told->halts == 1);
  job.lead();
  come_and_go();
  CHECK(job.told->halts == 1);
  CHECK(job.trains() == Addresses{"a:1", "b:1"});
  job.pass(test::between_returns / 2);
  CHECK(job.told->halts == 1);
  const bool another_comes = GENERATE(false, true);
  if (another_comes) {
    job.kill("b:1"); // the others do not halt for c:1: they assemble anyway
  } else {
    job.pass(test::between_returns / 2);
    CHECK(job.told->halts == 2);
  }
  CHECK(std::ranges::count(job.trains(), "c:1") == 1);
}

TEST_CASE("a node that was left out is told how the job ended") {
  TrainingJob job{3};
  job.cut("b:1", "c:1");
  job.report(Errc::network, "b:1");
  job.lead();
  job.finish(JobEnd{.result = {.status = "completed"}});
  REQUIRE(job[2].end);
  CHECK(job[2].end->result.status == "completed");
}

TEST_CASE("a node that fails before the first step ends, and the job waits for another one") {
  Cluster cluster{2};
  const auto a = cluster.join("a:1"), b = cluster.join("b:1");
  cluster.report(1, Error{Errc::unsupported, "ranks 0 and 1 share one GPU", {.node = "b:1"}});
  REQUIRE(b->end);
  CHECK(b->end->error->exit_code() == 2);
  CHECK_FALSE(b->end->for_all);
  CHECK_FALSE(a->end);
  const auto c = cluster.join("c:1");
  CHECK(a->assignment->generation.number == 2);
  CHECK(c->assignment->member().first_rank == 1);
}

TEST_CASE(
    "a failure of the leader before the first step ends the job, whichever node reports it first") {
  Cluster cluster{3};
  const auto a = cluster.join("a:1"), b = cluster.join("b:1"), c = cluster.join("c:1");
  for (const char* node : {"b:1", "a:1"})
    cluster.report(1, Error{Errc::data, "no data here", {.node = node}});
  for (const auto& node : {a, b, c}) {
    REQUIRE(node->end);
    CHECK(node->end->error->message == "no data here");
  }
}

TEST_CASE("a leader that fails while it trains hands over to another node") {
  const bool another_can = GENERATE(true, false);
  TrainingJob job{3, another_can};
  job.report(Errc::device, "a:1");
  CHECK(job.is_over == another_can);
  CHECK(job[0].end.has_value() == another_can);
  if (another_can)
    CHECK_FALSE(job[0].end->for_all);
  CHECK_FALSE(job[1].end);
}

TEST_CASE("a leader that fails while nodes connect hands over unless only it has the state") {
  const bool others_have_state = GENERATE(true, false);
  TrainingJob job{4, true};
  for (std::size_t node = 0; node < 3; ++node)
    job[node].offer.step = node == 0 || others_have_state ? 9 : -1;
  job.kill("d:1");
  REQUIRE(job.trains() == Addresses{"a:1", "b:1", "c:1"});
  job.report(Errc::device, "a:1");
  CHECK(job.is_over == others_have_state);
  REQUIRE(job[0].end);
  CHECK(job[0].end->for_all == !others_have_state);
  CHECK(job[1].end.has_value() == !others_have_state);
}
