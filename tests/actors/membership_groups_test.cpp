// Tests nodes whose workers train in groups: nodes that fill no group wait as spares.
#include "tests/actors/membership_fixture.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

using namespace troupe;
using namespace troupe::actors;
using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;
using test::Cluster;

namespace {

/// Lets the quorum timeout pass. Returns the number of workers of the generation that saves the
/// state and ends the job, because they fill no groups of two.
std::int64_t workers_that_save(Cluster& cluster, const test::JoinContext& leader) {
  cluster.pass(61s);
  const auto workers = leader.assignment->generation.world_size();
  cluster.lead();
  REQUIRE(cluster.told->ending);
  CHECK_THAT(cluster.told->ending->message, ContainsSubstring("groups of 2"));
  return workers;
}

} // namespace

TEST_CASE("nodes whose workers do not complete a group wait as spares") {
  Cluster cluster{2, 4, false, 2};
  const auto a = cluster.join("a:1"), b = cluster.join("b:1");
  cluster.lead();
  const auto c = cluster.join("c:1");
  CHECK_FALSE(c->assignment);
  CHECK(cluster.told->halts == 0);
  CHECK(cluster.status("c:1") == "waiting as a spare: workers train in groups of 2 "
                                 "(parallel.shard_group), and no further group is complete");
  const auto d = cluster.join("d:1");
  REQUIRE(c->assignment);
  REQUIRE(d->assignment);
  CHECK(d->assignment->generation.world_size() == 4);
  cluster.lead();
  cluster.kill("b:1");
  const auto& record = a->assignment->generation;
  CHECK(record.number == 3);
  CHECK(record.world_size() == 2);
  CHECK(record.spares == std::vector<std::string>{"c:1"}); // c:1 had joined last
  CHECK(c->assignment->generation.number == 2);
  CHECK(c->waits_since == 3);
  CHECK(d->assignment->member().first_rank == 1);
  cluster.lead();
  cluster.kill("d:1"); // the spare takes its ranks
  CHECK(a->assignment->generation.number == 4);
  CHECK(c->assignment->member().first_rank == 1);
}

TEST_CASE("without a complete group of workers, nodes wait and then save their state") {
  Cluster cluster{1, 4, false, 2};
  const auto a = cluster.join("a:1");
  CHECK_FALSE(a->assignment);
  CHECK(cluster.said.back() == "waiting for more nodes: workers train in groups of 2 "
                               "(parallel.shard_group), and 1 is present");
  const auto b = cluster.join("b:1");
  REQUIRE(a->assignment);
  cluster.lead();
  cluster.kill("b:1");
  CHECK(a->waits);
  CHECK(workers_that_save(cluster, *a) == 1);
}

TEST_CASE("nodes whose workers cannot fill whole groups save their state as one group") {
  Cluster cluster{1, 4, false, 2};
  const auto a = cluster.join("a:1");
  cluster.join("c:1");
  cluster.lead();
  cluster.join("b:1", {}, 2);
  REQUIRE(a->assignment);
  CHECK(a->assignment->generation.world_size() == 4);
  cluster.lead();
  cluster.kill("c:1"); // 1 worker and 2 workers remain
  CHECK(a->waits);
  CHECK(workers_that_save(cluster, *a) == 3);
}

TEST_CASE("a job does not halt for a node if the spare that it needs does not fit") {
  Cluster cluster{1, 8, false, 4};
  cluster.join("a:1", {}, 8); // of 12 slices
  cluster.lead();
  cluster.join("b:1", {}, 3);
  const auto c = cluster.join("c:1", {}, 3);
  CHECK(cluster.told->halts == 0);
  CHECK_FALSE(c->assignment);
  const auto d = cluster.join("d:1");
  REQUIRE(d->assignment);
  CHECK(d->assignment->generation.world_size() == 12);
}
