#include "core/net/socket.hpp"
#include "tests/support/certificates.hpp"
#include "tests/system/language_runs.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

using namespace troupe;
using namespace troupe::testing;
using namespace std::chrono_literals;

namespace {

/// Trains until it is stopped; its only checkpoint is the one written at the stop.
const Settings trained_without_end = {"train.epochs=100000", "checkpoint.every=1000 epochs",
                                      "metrics.listen=127.0.0.1:0"};

Ended troupe_says(std::vector<std::string> words) {
  words.insert(words.begin(), TROUPE_PROGRAM);
  return RunningProgram{words}.wait();
}

/// `more`: options.
Ended ask(const std::string& verb, const std::string& address,
          const std::vector<std::string>& more = {}) {
  std::vector<std::string> words = {verb, address};
  words.insert(words.end(), more.begin(), more.end());
  return troupe_says(words);
}

std::vector<std::string> named(const std::string& name) {
  return {"--tls-name", name};
}

} // namespace

TEST_CASE("troupe status reports a daemon's job, and troupe stop ends it with a checkpoint") {
  const Experiment experiment(trained_without_end);
  auto node = experiment.start_node("node", {"parallel.strategy=ddp", "devices.count=2"});
  const auto address = daemon_address(node);
  const auto run = experiment.run("node");
  REQUIRE(becomes_true([&] { return run.steps_done() >= 3; }));

  const auto said = ask("status", address, {"--json"});
  CAPTURE(said.out, said.err);
  REQUIRE(said.code == 0);
  const auto status = nlohmann::json::parse(said.out);
  CHECK(status.at("name") == "node");
  CHECK(status.at("step").get<std::int64_t>() >= 3);
  CHECK(status.at("total_steps") == 800000);
  CHECK(status.at("world_size") == 2);
  CHECK(status.at("generation") == 1);
  CHECK(status.at("loss").get<double>() > 0);
  CHECK(status.at("samples_per_second").get<double>() > 0);
  CHECK(status.at("tokens_per_second").is_null());
  REQUIRE(status.at("nodes").size() == 1);
  const auto& own = status.at("nodes").at(0);
  CHECK(own.at("address") == address);
  CHECK(own.at("metrics") == "127.0.0.1:" + std::to_string(metrics_port(node)));
  CHECK(own.at("state") == "active");
  CHECK(own.at("ranks") == std::vector<int>{0, 1});
  CHECK(own.at("devices").size() == 2);

  const auto table = ask("status", address);
  CHECK(table.code == 0);
  CHECK(has(table.out, "node: "));
  CHECK(has(table.out, " samples/s\ngeneration 1, 1 node, 2 workers"));
  CHECK(has(table.out, address));

  const auto stopped = ask("stop", address, {"--wait"});
  CAPTURE(stopped.err);
  CHECK(stopped.code == 0);
  CHECK(has(stopped.out, address + " has stopped"));
  const auto ended = node.wait(20s);
  CAPTURE(ended.out, ended.err);
  CHECK(ended.code == 0);
  CHECK(run.summary().at("status") == "stopped");
  CHECK(run.newest_checkpoint().step == run.summary().at("steps"));
}

TEST_CASE("status of a language model's job reports tokens per second") {
  const auto experiment = on_text("gpt2-mini", {"metrics.listen=off"});
  auto node = experiment.start_node("node");
  const auto address = daemon_address(node);
  REQUIRE(node.prints("node: completed"));
  const auto said = ask("status", address, {"--json"});
  CAPTURE(said.out, said.err);
  REQUIRE(said.code == 0);
  const auto status = nlohmann::json::parse(said.out);
  const auto samples = status.at("samples_per_second").get<double>();
  CHECK(samples > 0);
  CHECK(status.at("tokens_per_second").get<double>() == Catch::Approx(32 * samples));
  const auto text = ask("status", address).out;
  CAPTURE(text);
  CHECK(has(text, " tokens/s\nthe job has ended"));
  CHECK(has(text, "\ngeneration 1, 1 node, 1 worker"));
  CHECK(ask("stop", address).code == 0);
  CHECK(node.wait().code == 0);
}

TEST_CASE("troupe stop ends a daemon whose job has ended, and status reports the end") {
  const Experiment experiment({"metrics.listen=off"});
  auto node = experiment.start_node("node");
  const auto address = daemon_address(node);
  REQUIRE(node.prints("node: completed"));
  const auto said = ask("status", address, {"--json"});
  REQUIRE(said.code == 0);
  const auto status = nlohmann::json::parse(said.out);
  CHECK(status.at("phase") == "ended");
  CHECK(status.at("error").is_null());
  CHECK(status.at("step") == status.at("total_steps"));
  CHECK(status.at("nodes").at(0).at("metrics").get<std::string>().empty());
  const auto table = ask("status", address).out;
  CHECK(has(table, "node: ended, epoch 5, step 40 of 40"));
  CHECK(has(table, "the job has ended; `troupe stop` ends this daemon\n"));
  CHECK(ask("stop", address).out == address + " stops; its job has ended already\n");
  CHECK(node.wait().code == 0);
}

TEST_CASE("status and stop report what a daemon without a job waits for") {
  const Experiment experiment(trained_without_end);
  const Settings two = {"cluster.nodes=2", "parallel.strategy=ddp"};
  auto leader = experiment.start_node("leader", two);
  const auto address = daemon_address(leader);
  REQUIRE(leader.prints("waiting for 1 more node"));
  const auto waits = "waiting for 1 more node (1 of 2: " + address + ")";
  const auto asked = ask("status", address).out;
  CHECK(asked.starts_with("leader: " + waits + " ("));
  CHECK(asked.ends_with(" of 5min)\n"));
  const auto wait = nlohmann::json::parse(ask("status", address, {"--json"}).out).at("wait");
  CHECK(wait.at("for") == waits);
  CHECK(wait.at("limit_seconds") == 300);
  const auto alone = ask("stop", address, {"--node"});
  CHECK(alone.code == 2);
  CHECK(has(alone.err, "leads the job, and the job would end if it left: the job has not begun"));
  CHECK(ask("stop", address).out == address + " stops; it was " + waits + "\n");
  CHECK(leader.wait().code == 0);

  auto follower =
      experiment.start_node("follower", two + Settings{"cluster.join=[" + address + "]"});
  const auto own = daemon_address(follower);
  const auto looks = "looking for a job at " + address + " (cluster.join)";
  REQUIRE(becomes_true([&] { return has(ask("status", own).out, looks); }));
  CHECK(ask("stop", own).out == own + " stops; it was " + looks + "\n");
  CHECK(follower.wait().code == 0);
}

TEST_CASE("status and stop report invalid or unreachable addresses") {
  // Released at once.
  const auto address = "127.0.0.1:" + std::to_string(net::listen_on({"127.0.0.1", 0}).value().port);
  for (const auto* verb : {"status", "stop"}) {
    const auto nobody = ask(verb, address);
    CHECK(nobody.code == 1);
    CHECK(has(nobody.err, "cannot connect to " + address + ": Connection refused"));
    const auto nonsense = ask(verb, "7401");
    CHECK(nonsense.code == 2);
    CHECK(has(nonsense.err, "\"7401\" is not an address; allowed: HOST:PORT"));
    for (const auto* never : {"soon", "0ms"})
      CHECK(ask(verb, address, {"--timeout", never}).code == 2);
    CHECK(ask(verb, address, {"--tls-ca", "ca.crt"}).code == 2);
    const auto missing = ask(verb, address, options_of({"a.crt", "a.key", "ca.crt"}));
    CHECK(missing.code == 2);
    CHECK(has(missing.err, "cluster.tls.certificate: a.crt: No such file or directory"));
  }
}

TEST_CASE("a daemon with certificates only answers clients of its authority") {
  const Certificates ours, others;
  const Experiment experiment(trained_without_end);
  auto node = experiment.start_node("node", settings_of(ours.of("node")));
  const auto address = daemon_address(node);

  const auto stranger = ask("stop", address, options_of(others.of("client")));
  CHECK(stranger.code == 1);
  CHECK(has(stranger.err, "is not trusted"));
  const auto plain = ask("stop", address, {"--timeout", "60s"});
  CHECK(plain.code == 1);
  CHECK(has(plain.err,
            "accepts only connections with a certificate: set cluster.tls, or pass --tls-cert"));
  const auto other = ask("stop", address, options_of(ours.of("client")) + named("other"));
  CHECK(other.code == 1);
  CHECK(has(other.err, "is not trusted: its name is not in cluster.tls.names"));
  CHECK(node.running());

  const auto friendly = ask("status", address, options_of(ours.of("client")) + named("node"));
  CAPTURE(friendly.err);
  CHECK(friendly.code == 0);
  const auto config = read_bytes(experiment.run("node") / "config.yaml");
  write_bytes(experiment / "node.yaml", config);
  CHECK(ask("stop", address, {"--config", (experiment / "node.yaml").string()}).code == 0);
  CHECK(node.wait().code == 0);
}

TEST_CASE("a daemon with an expired or missing certificate does not start") {
  const Certificates certificates;
  const Experiment experiment(trained_without_end);
  const auto expired = experiment.start_node("node", settings_of(certificates.expired())).wait();
  CHECK(expired.code == 2);
  CHECK(has(expired.err, "cluster.tls.certificate: " + certificates.path("expired.crt") +
                             ": certificate has expired"));
  const auto missing =
      experiment.start_node("node", settings_of({"a.crt", "a.key", "ca.crt"})).wait();
  CHECK(missing.code == 2);
  CHECK(has(missing.err, "a.crt: No such file or directory"));
  CHECK_FALSE(experiment.run("node").has("config.yaml"));
}
