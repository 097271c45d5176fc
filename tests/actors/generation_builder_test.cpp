// A former that forms a small job of this process alone, with all that is real.
#include "actors/node/generation_builder.hpp"
#include "tests/actors/small_job.hpp"
#include "tests/support/scratch_folder.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <memory>
#include <string>
#include <vector>

using namespace troupe;
using namespace troupe::actors;
using Catch::Matchers::ContainsSubstring;

namespace {

/// What `troupe train` gives its FORMER.
struct Workshop {
  explicit Workshop(Config job = test::small_job()) : config{std::move(job)} {
    config.run.output = folder.path().string();
  }
  ~Workshop() {
    system.reset(); // waits for the actors, which use what follows
  }

  void spawn() {
    builder = system->spawn<generation_builder_actor::stateful_impl<GenerationBuilderState>,
                            caf::detached>(GenerationBuilderSetup{
        .config = config,
        .options = options,
        .exposition = *exposition,
        .network = network,
        .say = [this](const std::string& text) { said.push_back(text); },
        .stopped_within = [this](std::chrono::milliseconds) { return stopped; },
        .built = [this] { ++times_built; }});
  }
  Result<BuiltGenerationPtr> form() {
    if (!builder)
      spawn();
    caf::scoped_actor self{*system};
    Result<BuiltGenerationPtr> answer;
    self->request(builder, caf::infinite, atom::form_v)
        .receive([&](BuiltGenerationPtr& built) { answer = std::move(built); },
                 [&](const caf::error& error) { answer = failure(from_caf_error(error, {})); });
    return answer;
  }
  void release() {
    caf::scoped_actor self{*system};
    self->request(builder, caf::infinite, atom::release_v, true)
        .receive([] {}, [](const caf::error& error) { FAIL(caf::to_string(error)); });
  }
  /// NODE does this when it ends.
  void end(BuiltGenerationPtr built) {
    caf::anon_send_exit(built->metrics, caf::exit_reason::user_shutdown);
    built.reset();
    caf::anon_send_exit(builder, caf::exit_reason::user_shutdown);
    builder = nullptr;
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
  std::unique_ptr<caf::actor_system> system = std::make_unique<caf::actor_system>(settings);
  generation_builder_actor builder;
};

} // namespace

TEST_CASE("a former gives a generation that can train, with METRICS that show it") {
  auto job = test::small_job();
  job.devices.count = 2;
  job.parallel.strategy = StrategyKind::ddp;
  Workshop workshop{job};
  auto built = workshop.form();
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

TEST_CASE("released, a generation is gone, and its host is there for the next one") {
  Workshop workshop;
  auto built = workshop.form();
  REQUIRE(built);
  const std::weak_ptr<training::Generation> generation = (*built)->generation;
  const std::weak_ptr<training::CompiledJob> host = (*built)->generation->host;
  const auto metrics = (*built)->metrics;
  built->reset();
  CHECK_FALSE(generation.expired());
  workshop.release();
  CHECK(generation.expired());
  CHECK_FALSE(host.expired()); // for the generation that may follow
  caf::anon_send_exit(metrics, caf::exit_reason::user_shutdown);
  caf::anon_send_exit(workshop.builder, caf::exit_reason::user_shutdown);
}

TEST_CASE("why a job cannot be formed is told as it is, and the former lives") {
  auto job = test::small_job();
  job.data.dataset = "cifar10";
  job.data.root = "/nowhere";
  Workshop workshop{job};
  const auto built = workshop.form();
  REQUIRE_FALSE(built);
  CHECK(built.error().code == Errc::data);
  CHECK_THAT(built.error().message, ContainsSubstring("/nowhere"));
  CHECK(built.error().exit_code() == 2);
  CHECK(workshop.times_built == 0);
  CHECK_FALSE(workshop.form()); // it answers again
  caf::anon_send_exit(workshop.builder, caf::exit_reason::user_shutdown);
}

TEST_CASE("a job that does not fit into memory is wrong input, and what helps is said") {
  auto job = test::small_job();
  job.devices.engine = "interpreter";
  job.train.evaluate_every = 1;
  job.data.eval_batch_size = std::int64_t{1} << 40; // more bytes than a process has addresses for
  Workshop workshop{job};
  const auto built = workshop.form();
  REQUIRE_FALSE(built);
  CHECK(built.error().exit_code() == 2);
  CHECK_THAT(built.error().message, ContainsSubstring("not enough memory: the host has no room"));
  CHECK_THAT(built.error().message, ContainsSubstring("data.eval_batch_size"));
  caf::anon_send_exit(workshop.builder, caf::exit_reason::user_shutdown);
}

TEST_CASE("asked to stop before a device is prepared, a former says so and forms nothing") {
  Workshop workshop;
  workshop.stopped = true;
  const auto built = workshop.form();
  REQUIRE_FALSE(built);
  CHECK(built.error().code == Errc::stopped);
  CHECK(workshop.times_built == 0);
  caf::anon_send_exit(workshop.builder, caf::exit_reason::user_shutdown);
}
