// Tests how long nodes wait at MEMBERSHIP for an assignment.
#include "tests/actors/membership_fixture.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

using namespace troupe;
using namespace troupe::actors;
using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;
using test::Cluster;

TEST_CASE(
    "a node without an assignment by its deadline is refused, and the others do not count it") {
  Cluster cluster{3};
  const auto a = cluster.join("a:1");
  const auto b = cluster.start("b:1", {}, 1, 10s);
  cluster.run();
  cluster.pass(11s);
  REQUIRE(b->assignment);
  CHECK(b->assignment->refused->code == Errc::network);
  CHECK(b->assignment->refused->exit_code() == 1);
  CHECK_THAT(b->assignment->refused->message,
             ContainsSubstring("not admitted to the job of a:1 in time: waiting for 1 more node"));
  CHECK(cluster.said.back() == "waiting for 2 more nodes (1 of 3: a:1)");
  CHECK_FALSE(a->assignment);
}

TEST_CASE("a node that stops waiting gets no assignment, and may ask again") {
  Cluster cluster{3};
  cluster.join("a:1");
  cluster.join("b:1");
  cluster.withdraw("b:1");
  CHECK(cluster.said.back() == "waiting for 2 more nodes (1 of 3: a:1)");
  const auto c = cluster.join("c:1");
  CHECK_FALSE(c->assignment);
  const auto again = cluster.join("b:1");
  REQUIRE(again->assignment);
  CHECK_FALSE(again->assignment->refused);
  CHECK(c->assignment);
}

TEST_CASE("a spare that stops waiting gets no assignment") {
  Cluster cluster{2};
  cluster.join("a:1");
  cluster.join("b:1");
  cluster.lead();
  const auto c = cluster.join("c:1");
  CHECK_FALSE(c->assignment);
  cluster.withdraw("c:1");
  cluster.kill("b:1");
  CHECK(c->assignment->refused);
  CHECK(cluster.status("a:1") == "waiting for 1 more node (1 of 2: a:1)");
}

TEST_CASE("a node's wait has the leader's limit, unless the node is a spare") {
  Cluster cluster{2};
  cluster.join("a:1");
  cluster.pass(5s);
  auto wait = cluster.wait("a:1");
  CHECK(wait == WaitStatus{"waiting for 1 more node (1 of 2: a:1)", 5000, 60'000});
  cluster.join("b:1");
  cluster.join("c:1");
  wait = cluster.wait("c:1");
  CHECK(wait.what.starts_with("waiting as a spare"));
  CHECK(wait.limit_ms == 0);
}
