// Tests a GenerationBuilder that builds a small job on this node only, with all real parts.
#include "actors/node/generation_builder.hpp"
#include "tests/actors/small_job.hpp"
#include "tests/support/scratch_folder.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

using namespace troupe;
using namespace troupe::actors;
using Catch::Matchers::ContainsSubstring;

namespace {

/// A GenerationBuilder with the inputs that `troupe train` gives it.
struct Workshop {
  explicit Workshop(Config job = test::small_job()) : config{std::move(job)} {
    config.run.output = folder.path().string();
  }
  /// Ends a generation as NODE does.
  void end(BuiltGenerationPtr built) {
    caf::anon_send_exit(built->metrics, caf::exit_reason::user_shutdown);
    built.reset();
    builder.reset();
  }
  bool shows(const std::string& part) const {
    return exposition->registry().text().find(part) != std::string::npos;
  }

  testing::ScratchFolder folder;
  Config config;
  RunOptions options{.quiet = true, .version = "1.2.3"};
  std::unique_ptr<metrics::Exposition> exposition =
      metrics::Exposition::open("off", training::run_info(config), true).value();
  NetworkOptions network;
  bool stopped = false;
  std::vector<std::string> said;
  int times_built = 0;
  caf::actor_system_config settings;
  caf::actor_system system{settings}; ///< its actors use the members above
  std::optional<GenerationBuilder> builder{GenerationBuilderSetup{
      .join = {.system = system,
               .config = config,
               .network = network,
               .say = [this](const std::string& text) { said.push_back(text); },
               .stopped_within = [this](std::chrono::milliseconds) { return stopped; }},
      .options = options,
      .exposition = *exposition,
      .built = [this] { ++times_built; }}};
};

} // namespace

TEST_CASE("a built generation can train, and its METRICS show it") {
  auto job = test::small_job();
  job.devices.count = 2;
  job.parallel.strategy = StrategyKind::ddp;
  Workshop workshop{job};
  auto built = workshop.builder->build();
  REQUIRE(built);
  CHECK((*built)->generation->rank_states.size() == 2);
  CHECK((*built)->generation->assignment.leads());
  CHECK((*built)->info.version == "1.2.3");
  CHECK((*built)->info.world_size == 2);
  CHECK((*built)->metrics);
  CHECK(workshop.times_built == 1);
  CHECK(workshop.shows("troupe_phase{phase=\"starting\"} 1"));
  CHECK(std::filesystem::exists(workshop.folder.path() / "run"));
  workshop.end(*std::move(built));
}

TEST_CASE("a released generation is destroyed, and its compiled job stays for the next one") {
  Workshop workshop;
  auto built = workshop.builder->build();
  REQUIRE(built);
  const std::weak_ptr<training::Generation> generation = (*built)->generation;
  const std::weak_ptr<training::CompiledJob> host = (*built)->generation->compiled_job;
  const auto metrics = (*built)->metrics;
  built->reset();
  CHECK_FALSE(generation.expired());
  workshop.builder->release(true);
  CHECK(generation.expired());
  CHECK_FALSE(host.expired()); // kept for the next generation
  caf::anon_send_exit(metrics, caf::exit_reason::user_shutdown);
}

TEST_CASE("the reason why a job cannot be built is reported, and another build may follow") {
  auto job = test::small_job();
  job.data.dataset = "cifar10";
  job.data.root = "/nowhere";
  Workshop workshop{job};
  const auto built = workshop.builder->build();
  REQUIRE_FALSE(built);
  CHECK(built.error().code == Errc::data);
  CHECK_THAT(built.error().message, ContainsSubstring("/nowhere"));
  CHECK(built.error().exit_code() == 2);
  CHECK(workshop.times_built == 0);
  CHECK_FALSE(workshop.builder->build()); // another attempt
}

TEST_CASE("a job that does not fit into memory is invalid input, and the error suggests a remedy") {
  auto job = test::small_job();
  job.devices.engine = Engine::interpreter;
  job.train.evaluate_every = 1;
  job.data.eval_batch_size = std::int64_t{1}
                             << 40; // more bytes than the address space of a process
  Workshop workshop{job};
  const auto built = workshop.builder->build();
  REQUIRE_FALSE(built);
  CHECK(built.error().exit_code() == 2);
  CHECK_THAT(built.error().message,
             ContainsSubstring("not enough memory: the host cannot allocate"));
  CHECK_THAT(built.error().message, ContainsSubstring("data.eval_batch_size"));
}

TEST_CASE("a stop before the devices are prepared is reported, and nothing is built") {
  Workshop workshop;
  workshop.stopped = true;
  const auto built = workshop.builder->build();
  REQUIRE_FALSE(built);
  CHECK(built.error().code == Errc::stopped);
  CHECK(workshop.times_built == 0);
}
