// Tests records that MEMBERSHIP has decided without a halt: the set of voters, and the end of the
// job.
#include "tests/actors/membership_fixture.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

using namespace troupe;
using namespace troupe::actors;
using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;
using test::Cluster;

namespace {

using Addresses = std::vector<std::string>;

Addresses voters_of(const training::GenerationRecord& record) {
  Addresses addresses;
  for (const auto& voter : record.voters)
    addresses.push_back(voter.address);
  return addresses;
}

/// Two training nodes; no other node may join.
struct Pair : Cluster {
  Pair() : Cluster{2, 2, true} {
    join("a:1");
    join("b:1");
    lead();
    lead();
  }
  Addresses voters() const { return voters_of(proposals.back()); }
};

} // namespace

TEST_CASE("a spare becomes a voter if their number would otherwise be even, without a halt") {
  Pair cluster;
  const auto first = cluster.proposals.back();
  CHECK(cluster.voters() == Addresses{"a:1", "b:1"});
  const auto c = cluster.join("c:1");
  CHECK(cluster.voters() == Addresses{"a:1", "b:1", "c:1"});
  CHECK(c->voters == 3);
  const auto& revised = cluster.proposals.back();
  CHECK(revised.order() == std::pair{first.number, 1});
  CHECK(revised.secret == first.secret);
  CHECK(revised.spares == Addresses{"c:1"});
  cluster.join("d:1");
  CHECK(cluster.voters() == Addresses{"a:1", "b:1", "c:1"});
  CHECK(cluster.proposals.back().spares == Addresses{"c:1", "d:1"});
  CHECK(cluster.told->halts == 0);
}

TEST_CASE("a waiting voter that is lost is replaced or removed without a halt") {
  Pair cluster;
  cluster.join("c:1");
  cluster.join("d:1");
  cluster.kill("c:1");
  CHECK(cluster.voters() == Addresses{"a:1", "b:1", "d:1"});
  CHECK_FALSE(cluster.leave("d:1"));
  CHECK(cluster.voters() == Addresses{"a:1", "b:1"});
  CHECK(cluster.proposals.back().order() == std::pair{std::int64_t{1}, 4});
  CHECK(cluster.told->halts == 0);
}

TEST_CASE("witnesses become voters before spares, even if that makes the number even") {
  Pair cluster;
  cluster.join("c:1");
  cluster.join("w:1", {}, 0);
  CHECK(cluster.voters() == Addresses{"a:1", "b:1", "w:1"});
  cluster.join("v:1", {}, 0);
  CHECK(cluster.voters() == Addresses{"a:1", "b:1", "w:1", "v:1", "c:1"});
  cluster.kill("c:1");
  CHECK(cluster.voters() == Addresses{"a:1", "b:1", "w:1", "v:1"});
  CHECK(cluster.told->halts == 0);
}

TEST_CASE("the next generation follows a pending revision and takes over its voters") {
  Cluster cluster{2, 3, true};
  const auto a = cluster.join("a:1"), b = cluster.join("b:1");
  cluster.lead();
  cluster.lead();
  cluster.join("w:1", {}, 0);
  cluster.kill("b:1");
  cluster.join("c:1");
  REQUIRE(a->assignment->generation.number == 2);
  CHECK(cluster.proposals.back().order() == std::pair{std::int64_t{2}, 0});
  CHECK(voters_of(cluster.proposals.back()) == Addresses{"a:1", "c:1", "w:1"});
}

TEST_CASE("a job whose voters no longer decide ends within the quorum timeout") {
  Pair cluster;
  cluster.voters_are_silent = true;
  const auto c = cluster.join("c:1");
  const auto& a = cluster.daemons.at("a:1");
  cluster.kill("b:1"); // the spare replaces b:1 as soon as the previous record is known
  CHECK(a->assignment->generation.number == 1);
  CHECK_FALSE(a->end);
  while (!a->end && cluster.expire_next())
    cluster.run();
  REQUIRE(a->end);
  CHECK_THAT(a->end->error->message, ContainsSubstring("fewer than a quorum of the 2 voters"));
}

TEST_CASE("the end of a job is decided before its nodes are told") {
  Pair cluster;
  const auto& b = cluster.daemons.at("b:1");
  const JobEnd end{.result = {.status = "completed", .steps = 7}};
  SECTION("by voters that answer") {
    cluster.finish(end);
  }
  SECTION("by voters that do not answer, after the detection timeout") {
    cluster.voters_are_silent = true;
    cluster.finish(end);
    CHECK_FALSE(b->end);
    const auto early = cluster.join("c:1");
    CHECK(early->assignment->refused->code == Errc::network); // the node may try again
    cluster.pass(5s);
  }
  const auto& record = cluster.proposals.back();
  REQUIRE(record.end);
  CHECK(record.end->result.steps == 7);
  CHECK(record.order() == std::pair{std::int64_t{1}, 1});
  REQUIRE(b->end);
  CHECK(b->end->result.status == "completed");
}

TEST_CASE("the end of a job follows a pending revision") {
  Pair cluster;
  cluster.voters_are_silent = true;
  const auto c = cluster.join("c:1");
  REQUIRE(cluster.proposals.back().revision == 1);
  cluster.finish(JobEnd{.result = {.status = "stopped"}});
  CHECK(cluster.proposals.back().revision == 1); // one proposal at a time
  cluster.pass(5s);
  REQUIRE(c->end);
  CHECK(c->end->result.status == "stopped");
  CHECK(c->assignment->refused->code == Errc::stopped);
}

TEST_CASE("a job without other voters ends without a decision") {
  Cluster cluster{1, 1, true};
  const auto a = cluster.join("a:1");
  cluster.lead();
  cluster.finish(JobEnd{.result = {.status = "completed"}});
  REQUIRE(a->end);
  CHECK(cluster.proposals.size() == 1);
}
