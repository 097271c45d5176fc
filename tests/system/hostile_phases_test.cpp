// Tests that strangers at the ports of nodes change nothing in any phase of a job.
#include "tests/support/certificates.hpp"
#include "tests/system/daemons.hpp"
#include "tests/system/hostile_frames.hpp"
#include "tests/system/process_use.hpp"
#include "tests/system/services.hpp"
#include "tests/system/stranger.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <atomic>
#include <csignal>
#include <future>

#include <sys/resource.h>

using namespace troupe;
using namespace troupe::testing;
using namespace std::chrono_literals;

namespace {

constexpr int frames_a_phase = 10'000;
constexpr std::int64_t most_growth = 64 << 20;

/// The default limit of most systems.
const std::vector<std::string> few_descriptors = {"bash", "-c",
                                                  R"(ulimit -Sn 1024; exec "$0" "$@")"};

void allow_descriptors(rlim_t count) {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = std::min(limit.rlim_max, std::max(limit.rlim_cur, count));
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

/// The ports of a node.
struct Ports {
  Endpoint cluster = *parse_endpoint(free_address()), data = *parse_endpoint(free_address());

  Settings settings() const {
    return {"cluster.listen=" + to_string(cluster),
            "cluster.listen.data_port=" + std::to_string(data.port)};
  }
};

/// Sends malicious frames to a node's ports, one per connection.
class Attacker {
public:
  Attacker(const HostileFrames& frames, Ports ports) : frames_{frames}, ports_{std::move(ports)} {}

  void send(int count) {
    for (int i = 0; i < count; ++i) {
      const bool cluster = i % 2 == 0;
      Stranger stranger{cluster ? ports_.cluster : ports_.data};
      stranger.send(cluster ? frames_.for_cluster() : frames_.for_data());
      if (frames_.number(1) == 0)
        stranger.break_off();
    }
  }
  /// Sends at least `least` frames, and continues until `enough()`. Fails when a daemon no longer
  /// listens.
  template <class Enough>
  void send_while(int least, const Enough& enough) {
    std::atomic<bool> stop = false;
    auto sending = std::async(std::launch::async, [&] {
      for (send(least); !stop;)
        send(10);
    });
    const bool so = enough();
    stop = true;
    sending.get();
    REQUIRE(so);
  }
  std::list<Stranger> stay_silent(int count) const {
    std::list<Stranger> strangers;
    for (int i = 0; i < count; ++i)
      strangers.emplace_back(i % 2 == 0 ? ports_.cluster : ports_.data);
    return strangers;
  }

private:
  HostileFrames frames_;
  Ports ports_;
};

bool answers(const Ports& ports, const std::vector<std::string>& certificates) {
  const std::vector<std::string> words = {TROUPE_PROGRAM, "status", to_string(ports.cluster),
                                          "--timeout", "60s"};
  return RunningProgram{words + certificates}.wait().code == 0;
}

bool goes_on(const RunFiles& run) {
  const auto before = run.steps_done();
  return becomes_true([&] { return run.steps_done() > before + 5; });
}

} // namespace

TEST_CASE("ten thousand hostile frames in each phase do not affect a job", "[long]") {
  const bool secured = GENERATE(false, true);
  CAPTURE(secured);
  allow_descriptors(4096);
  const Certificates certificates;
  const auto shown = secured ? options_of(certificates.of("client")) : Settings{};
  const auto settings = for_nodes(2, "ddp") + Settings{"train.epochs=100000"} +
                        (secured ? settings_of(certificates.of("node")) : Settings{});
  const Experiment experiment{{"train.schedule={name: constant}", "train.evaluate_every=0",
                               "checkpoint.every=1000 epochs", "cluster.timeouts.handshake=2s"}};
  const auto run = experiment.run("attacked");
  Daemons daemons{experiment, "attacked", settings};
  const Ports first, second;
  auto& leader = daemons.lead(first.settings(), few_descriptors);
  REQUIRE(leader.prints("waiting for 1 more node"));
  const auto words = words_of_status(first.cluster, shown);
  Attacker at_leader{HostileFrames{words}, first}, at_second{HostileFrames{words, 2}, second};

  const auto alone = open_sockets(leader); // while it waits for nodes
  at_leader.send(frames_a_phase);
  CHECK(answers(first, shown));
  CHECK(becomes_true([&] { return open_sockets(leader) <= alone; }));

  auto& follower = daemons.join(second.settings(), few_descriptors); // while they connect
  at_leader.send_while(frames_a_phase,
                       [&] { return becomes_true([&] { return run.steps_done() > 5; }); });
  CHECK(goes_on(run));

  REQUIRE(becomes_true([&] { return open_sockets(leader) < alone + 20; })); // while they train
  const auto connected = open_sockets(leader);
  at_leader.send(frames_a_phase / 2);
  at_second.send(frames_a_phase / 2);
  auto silent = at_leader.stay_silent(1000);
  CHECK(answers(first, shown));
  CHECK(goes_on(run));
  CHECK(becomes_true([&] { return open_sockets(leader) <= connected; }));
  silent.clear();

  auto& spare = daemons.join({}, few_descriptors);
  REQUIRE(leader.prints("waits as a spare"));
  follower.kill(); // the others assemble again
  at_leader.send_while(frames_a_phase,
                       [&] { return leader.prints(" now takes part") && goes_on(run); });
  CHECK(goes_on(run));
  CHECK(becomes_true([&] { return open_sockets(leader) <= connected; }));
  const auto peak = peak_memory(leader);
  CHECK(terminate(leader).code == 0);
  CHECK(spare.wait().code == 0);
  CHECK(run.recoveries().size() == 1);

  const auto attacked = run.summary();
  Daemons others{experiment, "undisturbed",
                 settings + Settings{"train.max_steps=" + attacked.at("steps").dump()}};
  const Ports third;
  auto& undisturbed = others.lead(third.settings(), few_descriptors);
  others.join();
  REQUIRE(undisturbed.prints("undisturbed: completed"));
  CHECK(experiment.run("undisturbed").digest() ==
        attacked.at("parameters_sha256").get<std::string>());
  const auto default_value = peak_memory(undisturbed);
  CHECK(peak - default_value <= most_growth);

  const auto ended = open_sockets(undisturbed); // it stays to answer requests
  Attacker{HostileFrames{words, 3}, third}.send(frames_a_phase);
  CHECK(answers(third, shown));
  CHECK(becomes_true([&] { return open_sockets(undisturbed) <= ended; }));
  CHECK(peak_memory(undisturbed) - default_value <= most_growth);
  CHECK(terminate(undisturbed).code == 0);
}
