// Tests that clients that reach a daemon's port and violate the protocol do not harm a job.
#include "core/net/sigpipe.hpp"
#include "tests/support/certificates.hpp"
#include "tests/system/experiment.hpp"
#include "tests/system/hostile_frames.hpp"
#include "tests/system/process_use.hpp"
#include "tests/system/stranger.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>

#include <csignal>
#include <list>
#include <random>
#include <sstream>

using namespace troupe;
using namespace troupe::testing;
using namespace std::chrono_literals;

namespace {

/// Two daemons that train until they are stopped, and any other clients.
class AttackedJob {
public:
  explicit AttackedJob(bool secured) {
    if (!secured)
      return;
    settings_ = settings_ + settings_of(tls_.emplace().of("node"));
  }

  void start() {
    auto& leader = start("attacked", {});
    REQUIRE(becomes_true([&] { return run("attacked").steps_done() > 5; }));
    peak_before_ = peak_memory(leader);
  }
  RunFiles run(const std::string& name) const { return experiment_.run(name); }
  RunningProgram& leader() { return programs_.front(); }
  bool trains_on() {
    const auto before = run("attacked").steps_done();
    return becomes_true([&] { return run("attacked").steps_done() > before + 5; });
  }
  bool answers() {
    std::vector<std::string> words = {TROUPE_PROGRAM, "status", address_, "--timeout", "60s"};
    if (const auto tls = certificates())
      words = words + options_of(*tls);
    return RunningProgram{words}.wait().code == 0;
  }
  /// Returns the growth of the leader's peak memory, in bytes.
  std::int64_t growth() { return peak_memory(leader()) - peak_before_; }
  void stop() {
    leader().send(SIGTERM);
    for (auto& program : programs_) {
      const auto ended = program.wait();
      INFO(ended.out << ended.err);
      CHECK(ended.code == 0);
    }
    programs_.clear();
  }
  /// Runs the same job without strangers, for `steps` steps.
  void repeat(std::int64_t steps) {
    start("undisturbed", {"train.max_steps=" + std::to_string(steps)});
    REQUIRE(becomes_true([&] { return run("undisturbed").has("summary.json"); }));
    stop();
  }

  const std::string& address() const { return address_; }
  Stranger stranger() const { return Stranger{*parse_endpoint(address_)}; }
  /// Connects with a certificate, if the job requires one.
  Stranger trusted_stranger() const { return Stranger{*parse_endpoint(address_), certificates()}; }

private:
  RunningProgram& start(const std::string& name, const Settings& more) {
    auto& leader = programs_.emplace_back(experiment_.command("node", name, settings_ + more));
    address_ = daemon_address(leader);
    const auto folder = experiment_ / ("second " + name);
    programs_.emplace_back(experiment_.command(
        "node", name,
        settings_ + more + Settings{"--join=" + address_, "run.output=" + folder.string()}));
    return leader;
  }
  std::optional<TlsConfig> certificates() const {
    return tls_ ? std::optional{tls_->of("client")} : std::nullopt;
  }
  Experiment experiment_{{"cluster.nodes=2", "parallel.strategy=ddp", "train.epochs=100000",
                          "train.schedule={name: constant}", "train.evaluate_every=0",
                          "checkpoint.every=1000 epochs", "cluster.timeouts.handshake=2s"}};
  Settings settings_;
  std::optional<Certificates> tls_;
  std::string address_;
  std::list<RunningProgram> programs_;
  std::int64_t peak_before_ = 0;
};

void send_headers_without_payload(const AttackedJob& job) {
  for (char operation = 0; operation <= basp_operations + 1; ++operation)
    for (const auto& bytes : {basp_header(operation, 0), basp_header(operation, 0, 1, 0, 1),
                              basp_header(operation, 0, 4), basp_header(operation, 0, 0, 1, 1)}) {
      job.stranger().send(bytes + bytes);
      job.trusted_stranger().send(bytes + bytes);
    }
}

/// Announces messages of 4 GiB and stays connected: each would fill the memory that a daemon
/// allocates for it.
std::list<Stranger> announce_4_gib(const AttackedJob& job) {
  std::list<Stranger> strangers;
  for (char operation = 0; operation < basp_operations; ++operation)
    for (const auto& bytes :
         {basp_header(operation, 0xffffffff, 4), basp_header(operation, 0xffffffff, 1, 1, 1),
          basp_header(operation, 0xffffffff, 0, 0, 1)})
      strangers.emplace_back(job.trusted_stranger()).send(bytes + std::string(3000, 'x'));
  return strangers;
}

std::list<Stranger> stay_silent(const AttackedJob& job, int count) {
  std::list<Stranger> strangers;
  for (int i = 0; i < count; ++i)
    strangers.push_back(job.stranger());
  return strangers;
}

/// Sends random bytes, or a random header that is almost valid.
void send_random_strings(const AttackedJob& job, int count) {
  std::mt19937 random{16};
  const auto number = [&](int most) { return std::uniform_int_distribution<int>{0, most}(random); };
  for (int i = 0; i < count; ++i) {
    std::string bytes(static_cast<std::size_t>(number(300)), '\0');
    for (auto& byte : bytes)
      byte = static_cast<char>(number(255));
    if (i % 2 == 0)
      bytes.insert(0, basp_header(static_cast<char>(number(basp_operations)),
                                  static_cast<std::uint32_t>(number(400)),
                                  static_cast<char>(number(4)), static_cast<char>(number(1)),
                                  static_cast<char>(number(1))));
    (i % 50 == 0 ? job.trusted_stranger() : job.stranger()).send(bytes);
  }
}

/// Sends a handshake, and then a message of a stream.
std::list<Stranger> send_stream_messages(const AttackedJob& job, const std::string& introduction) {
  std::list<Stranger> strangers;
  for (const char category : {2, 3})
    for (const char flags : {0, 1})
      strangers.emplace_back(job.trusted_stranger())
          .send(introduction + categorized_message(category, flags));
  return strangers;
}

bool all_see_the_end(std::list<Stranger>& strangers) {
  return becomes_true([&] {
    std::erase_if(strangers, [](Stranger& stranger) { return stranger.sees_the_end(); });
    return strangers.empty();
  });
}

} // namespace

TEST_CASE("unknown peers do not disturb a running job", "[long]") {
  const net::NoSigpipe no_sigpipe; // OpenSSL writes to connections that daemons have closed
  const bool secured = GENERATE(false, true);
  CAPTURE(secured);
  AttackedJob job{secured};
  job.start();

  send_headers_without_payload(job);
  CHECK(job.trains_on());

  auto announcers = announce_4_gib(job);
  CHECK(job.trains_on());
  CHECK(all_see_the_end(announcers));

  auto silent = stay_silent(job, 500);
  CHECK(job.answers()); // a client with a valid handshake is served
  CHECK(job.trains_on());
  CHECK(all_see_the_end(silent));

  send_random_strings(job, 10000);
  CHECK(job.trains_on());
  CHECK(job.answers());

  CHECK(job.growth() <= 64 << 20);
  job.stop();
  const auto attacked = job.run("attacked").summary();
  CHECK(attacked.at("status") == "stopped");
  job.repeat(attacked.at("steps"));
  CHECK(job.run("undisturbed").digest() == attacked.at("parameters_sha256").get<std::string>());
}

TEST_CASE("a message about CAF streams ends its connection but not the daemon") {
  const net::NoSigpipe no_sigpipe;
  std::string introduction;
  for (const bool secured : {false, true}) {
    CAPTURE(secured);
    AttackedJob job{secured};
    job.start();
    if (!secured) // with TLS, the bytes are encrypted
      introduction = introduction_of(words_of_status(*parse_endpoint(job.address()), {}));
    auto strangers = send_stream_messages(job, introduction);
    CHECK(all_see_the_end(strangers));
    CHECK(job.trains_on());
    CHECK(job.answers());
    job.stop();
  }
}

TEST_CASE("a message that links an actor of a daemon with itself has no effect") {
  const net::NoSigpipe no_sigpipe;
  AttackedJob job{false};
  job.start();
  const auto words = words_of_status(*parse_endpoint(job.address()), {});
  std::list<Stranger> strangers; // stay connected until the daemon has read the messages
  for (const bool links : {true, false})
    strangers.emplace_back(job.stranger()).send(introduction_of(words) + self_link(words, links));
  CHECK(job.trains_on());
  CHECK(job.answers());
  strangers.clear();
  job.stop();
}
