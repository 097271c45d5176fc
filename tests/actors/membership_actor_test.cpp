// Tests the actor of Membership: handles of nodes, answers, time and lost connections.
#include "actors/caf_error.hpp"
#include "actors/membership/membership_actor.hpp"
#include "collectives/data_plane/data_plane.hpp"
#include "tests/actors/deterministic.hpp"
#include "tests/actors/stub_roles.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

using namespace troupe;
using namespace troupe::actors;
using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;

namespace {

/// A node that has asked to join.
struct Joined {
  member_actor node;
  std::optional<training::NodeAssignment> assignment;
  std::optional<Error> halted;
  std::optional<JobEnd> end;
  bool probes = true; ///< answers probes
};
using JoinedPtr = std::shared_ptr<Joined>;

/// A MEMBERSHIP of a job for two nodes.
struct Job : test::Deterministic {
  Job() { spawn(); }
  void spawn() {
    membership = test::spawn_state<MembershipState, membership_actor>(
        system,
        MembershipSetup{
            .rules = {.min_nodes = 2,
                      .max_nodes = 2,
                      .timeouts = {.detection = 5s, .rejoin = 20s, .quorum = 60s, .admission = 0ms},
                      .probe = 5s,
                      .make_secret = collectives::make_secret,
                      .has_voters = static_cast<bool>(consensus)},
            .say = [this](const std::string& text) { said.push_back(text); },
            .consensus = consensus});
  }
  ~Job() {
    for (const auto& joined : all)
      self->send_exit(joined->node, caf::exit_reason::kill);
    for (const auto& actor :
         {caf::actor_cast<caf::actor>(coordinator), caf::actor_cast<caf::actor>(consensus),
          caf::actor_cast<caf::actor>(membership)})
      self->send_exit(actor, caf::exit_reason::kill);
    scheduler.run();
  }
  JoinedPtr join(const std::string& address, bool probes = true) {
    auto joined = all.emplace_back(std::make_shared<Joined>());
    joined->probes = probes;
    joined->node = test::spawn_stub<member_actor>(
        system,
        [joined](atom::halt, std::int64_t, const Error& reason) { joined->halted = reason; },
        [joined](atom::finish, const JobEnd& end) { joined->end = end; },
        [joined](atom::probe, const ProbeOrder&) -> caf::result<std::vector<BrokenLink>> {
          if (!joined->probes)
            return caf::delegated<std::vector<BrokenLink>>{};
          return std::vector<BrokenLink>{};
        });
    ask(address, joined);
    return joined;
  }
  void ask(const std::string& address, const JoinedPtr& joined) {
    const NodeInfo info{.address = address,
                        .data = address,
                        .version = "1",
                        .process = address,
                        .attempt = ++attempts};
    system.spawn([membership = membership, info, joined](caf::event_based_actor* asker) {
      asker->request(membership, caf::infinite, atom::join_v, info, joined->node)
          .then([joined](const training::NodeAssignment& got) { joined->assignment = got; },
                [](const caf::error&) {});
    });
    scheduler.run();
  }
  void lead() {
    coordinator = test::spawn_stub<coordinator_actor>(
        system, [this](atom::halt, bool) { ++halts; },
        [this](atom::stop, const Error&) { ++stops; });
    self->send(membership, atom::lead_v, coordinator);
    scheduler.run();
  }
  void pass(std::chrono::milliseconds time) {
    scheduler.advance_time(time);
    scheduler.run();
  }
  template <class... Message>
  void tell(Message&&... message) {
    self->send(membership, std::forward<Message>(message)...);
    scheduler.run();
  }
  /// Returns whether COORDINATOR is known.
  bool is_led() {
    bool led = false;
    auto asked = self->request(membership, 1s, atom::follow_v);
    scheduler.run();
    pass(2s);
    asked.receive([&](const coordinator_actor& got) { led = got == coordinator; },
                  [](const caf::error&) {});
    return led;
  }

  int halts = 0, stops = 0;
  consensus_actor consensus;
  membership_actor membership;
  coordinator_actor coordinator;
  std::vector<JoinedPtr> all;
  std::vector<std::string> said;
  std::int64_t attempts = 0;
};

} // namespace

TEST_CASE("a join request without a process is refused") {
  Job job;
  bool is_refused = false;
  auto asked = job.self->request(job.membership, caf::infinite, atom::join_v,
                                 NodeInfo{.address = "a:1", .version = "1"}, member_actor{});
  job.scheduler.run();
  asked.receive([](const training::NodeAssignment&) {},
                [&](const caf::error&) { is_refused = true; });
  CHECK(is_refused);
  job.join("a:1");
  CHECK(job.join("b:1")->assignment);
}

TEST_CASE("nodes get their assignments, and COORDINATOR as soon as it exists") {
  Job job;
  const auto a = job.join("a:1"), b = job.join("b:1");
  REQUIRE(a->assignment);
  REQUIRE(b->assignment);
  CHECK(b->assignment->member().address == "b:1");
  // The ranks connect with a secret that no other process knows.
  Job other;
  const auto c = other.join("c:1");
  other.join("d:1");
  CHECK(c->assignment->generation.secret.size() == 32);
  CHECK(c->assignment->generation.secret != a->assignment->generation.secret);
  CHECK_FALSE(job.is_led());
  job.lead();
  CHECK(job.is_led());
  job.tell(atom::stop_v, a->node, StopReason::job);
  CHECK(job.stops == 1);
}

TEST_CASE("a lost actor is reported as lost, and others halt") {
  Job job;
  const auto a = job.join("a:1"), b = job.join("b:1");
  job.lead();
  job.self->send_exit(b->node, caf::exit_reason::kill);
  job.scheduler.run();
  REQUIRE(a->halted);
  CHECK_THAT(a->halted->message, ContainsSubstring("node b:1 (rank 1) was lost: "));
  CHECK_FALSE(job.is_led());
  job.ask("a:1", a);
  const auto c = job.join("b:1"); // another process with the same name
  REQUIRE(c->assignment);
  CHECK(c->assignment->generation.number == 2);
}

TEST_CASE("a node that is halted for a loss of its connection may join again with its handle") {
  Job job;
  const auto a = job.join("a:1"), b = job.join("b:1");
  job.lead();
  caf::anon_send(caf::actor_cast<caf::actor>(job.membership),
                 caf::down_msg{b->node.address(), caf::exit_reason::remote_link_unreachable});
  job.scheduler.run();
  CHECK(a->halted->message == "node b:1 (rank 1) was lost: its connection was closed");
  job.ask("a:1", a);
  job.ask("b:1", b);
  CHECK(b->assignment->generation.number == 2);
}

TEST_CASE("the actor wakes Membership when a limit is over") {
  Job job;
  const auto a = job.join("a:1");
  job.pass(59s);
  CHECK_FALSE(a->assignment);
  job.pass(1s);
  REQUIRE(a->assignment);
  CHECK_THAT(a->assignment->refused->message, ContainsSubstring("cluster.timeouts.quorum"));
}

TEST_CASE("a node that does not answer a probe counts as silent after its limit") {
  Job job;
  job.join("a:1");
  const auto b = job.join("b:1", false);
  job.pass(9s);
  REQUIRE(b->assignment);
  CHECK_THAT(b->assignment->refused->message, ContainsSubstring("it has not answered"));
}

TEST_CASE("CONSENSUS decides records, and its death refuses them") {
  const bool dies = GENERATE(false, true);
  int proposals = 0;
  Job job;
  job.self->send_exit(job.membership, caf::exit_reason::kill);
  job.consensus = test::spawn_stub<consensus_actor>(
      job.system, [&, dies](atom::propose, const training::GenerationRecord&) -> caf::result<void> {
        ++proposals;
        if (dies)
          return to_caf_error({Errc::network, "another node leads the job now"});
        return caf::unit;
      });
  job.spawn();
  const auto a = job.join("a:1");
  job.join("b:1");
  CHECK(proposals == 1);
  REQUIRE(a->assignment);
  CHECK(a->assignment->refused.has_value() == dies);
}

TEST_CASE("the end is reported to all nodes, and answered when they know") {
  Job job;
  const auto a = job.join("a:1"), b = job.join("b:1");
  job.lead();
  bool is_answered = false;
  auto asked = job.self->request(job.membership, caf::infinite, atom::finish_v,
                                 JobEnd{.result = {.status = "completed"}});
  job.scheduler.run();
  asked.receive([&] { is_answered = true; }, [](const caf::error&) {});
  CHECK(is_answered);
  for (const auto& joined : {a, b})
    CHECK(joined->end->result.status == "completed");
}
