// Tests a DATA LOADER with real batch producers of a small job; workers record the batches that
// they receive.
#include "actors/roles/data_loader.hpp"
#include "tests/actors/deterministic.hpp"
#include "tests/actors/held_stream.hpp"
#include "tests/actors/small_job.hpp"
#include "tests/support/image_files.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <map>
#include <set>
#include <string>
#include <vector>

using namespace troupe;
using namespace troupe::actors;
using Catch::Matchers::ContainsSubstring;

namespace {

/// Config of two ranks with two slots each, 16 steps and a test set of 16 samples.
Config job_of_two() {
  auto config = test::small_job();
  config.parallel.strategy = StrategyKind::ddp;
  config.devices.count = 2;
  config.data.prefetch = 2;
  config.data.eval_batch_size = 3;
  config.data.shuffle = false;
  config.train.epochs = 4;
  config.train.evaluate_every = 1;
  return config;
}

/// A DATA LOADER with workers that keep the batches that they receive.
struct Larder : test::Deterministic {
  explicit Larder(const Config& job_config)
      : generation{training::build_generation(
                       test::compile_job(job_config, job_config.slices()),
                       training::single_node_assignment(
                           static_cast<std::int32_t>(job_config.devices.count), "here"))
                       .value()} {
    const auto& job = generation->job();
    const auto coordinator = test::spawn_stub<coordinator_actor>(
        system, [this](atom::failed, const Error& error) { errors.push_back(error); });
    loader = test::spawn_state<DataLoaderState, data_loader_actor>(
        system, DataLoaderSetup{.rank_states = generation->rank_states,
                                .steps = job.plan.total_steps(),
                                .coordinator = coordinator});
  }
  ~Larder() {
    self->send_exit(loader, caf::exit_reason::kill);
    scheduler.run();
  }

  void begin(std::int32_t rank, Pass first) {
    const auto worker = test::spawn_stub<worker_actor>(
        system,
        [this, rank](atom::batch, const MicroBatchPtr& batch) { batches[rank].push_back(batch); });
    tell(atom::begin_v, rank, worker, generation->slice_assignment, first);
  }
  void evaluate(std::int32_t rank) {
    tell(atom::fetch_v, rank, PassMode::evaluation, std::int64_t{0},
         generation->evaluation->sampler().steps_per_epoch());
  }
  void give_back(std::int32_t rank, std::size_t which) {
    tell(atom::credit_v, rank, batches[rank].at(which));
  }
  template <class... Message>
  void tell(Message&&... message) {
    self->send(loader, std::forward<Message>(message)...);
    scheduler.run();
  }
  std::vector<std::int64_t> indices(std::int32_t rank) {
    std::vector<std::int64_t> all;
    for (const auto& batch : batches[rank])
      all.push_back(batch->index);
    return all;
  }
  std::vector<std::int32_t> slots(std::int32_t rank) {
    std::vector<std::int32_t> all;
    for (const auto& batch : batches[rank])
      all.push_back(batch->slot);
    return all;
  }

  std::shared_ptr<training::Generation> generation;
  data_loader_actor loader;
  std::map<std::int32_t, std::vector<MicroBatchPtr>> batches; ///< by rank
  std::vector<Error> errors;
};

using Indices = std::vector<std::int64_t>;

} // namespace

TEST_CASE("a loader fills only free slots and uses a returned slot for the next pass") {
  Larder larder{job_of_two()};
  larder.begin(0, 3);
  CHECK(larder.indices(0) == Indices{3, 4});
  const auto first = larder.slots(0);
  CHECK(std::set(first.begin(), first.end()) == std::set<std::int32_t>{0, 1});
  larder.give_back(0, 1);
  CHECK(larder.indices(0) == Indices{3, 4, 5});
  CHECK(larder.slots(0).back() == first[1]);
  larder.give_back(0, 0);
  CHECK(larder.indices(0) == Indices{3, 4, 5, 6});
  CHECK(larder.slots(0).back() == first[0]);
}

TEST_CASE("a loader produces no batch after the last pass") {
  Larder larder{job_of_two()};
  larder.begin(0, 14);
  larder.give_back(0, 0);
  larder.give_back(0, 1);
  CHECK(larder.indices(0) == Indices{14, 15});
}

TEST_CASE("ranks do not use each other's credits, and get different samples") {
  Larder larder{job_of_two()};
  larder.begin(0, 0);
  larder.begin(1, 0);
  larder.give_back(1, 0);
  CHECK(larder.indices(0) == Indices{0, 1});
  CHECK(larder.indices(1) == Indices{0, 1, 2});
  for (const auto& stream : larder.generation->loader_streams)
    REQUIRE(stream.stream->synchronize());
  // Samples 0 to 15 are the first global batch, in the data set's order.
  const auto labels = [&](std::int64_t first) {
    std::vector<std::int32_t> expected;
    for (auto i = first; i < first + 8; ++i)
      expected.push_back(test::label_of(larder.generation->job().training->dataset(), i));
    return expected;
  };
  CHECK(test::labels_of(*larder.batches[0][0]) == labels(0));
  CHECK(test::labels_of(*larder.batches[0][1]) == labels(16));
  CHECK(test::labels_of(*larder.batches[1][1]) == labels(24));
  CHECK(test::labels_of(*larder.batches[1][2]) == labels(40)); // in the slot of the first batch
}

TEST_CASE("the micro-batches of a step are parts of one global batch") {
  auto config = job_of_two();
  config.train.accumulate = 2;
  Larder larder{config};
  larder.begin(1, 2); // the first pass of the second step
  CHECK(larder.indices(1) == Indices{2, 3});
  CHECK(larder.batches[1][0]->samples == 4);
  for (const auto& stream : larder.generation->loader_streams)
    REQUIRE(stream.stream->synchronize());
  const auto& dataset = larder.generation->job().training->dataset();
  CHECK(test::labels_of(*larder.batches[1][1]).front() == test::label_of(dataset, 16 + 12));
}

TEST_CASE("a rank gets no batch for its empty passes") {
  auto config = job_of_two();
  config.data.slices = 3; // the second of two ranks has two slices
  config.data.batch_size = 12;
  Larder larder{config};
  larder.begin(0, 2);
  larder.begin(1, 2); // both passes are in the second step
  CHECK(larder.indices(0) == Indices{3, 5});
  CHECK(larder.indices(1) == Indices{2, 3});
  CHECK(larder.batches[0][0]->samples == 4);
}

TEST_CASE("each evaluation covers the whole test set once, without training credits") {
  Larder larder{job_of_two()};
  larder.begin(1, 0);
  larder.batches.clear();
  larder.evaluate(1);
  CHECK(larder.indices(1) == Indices{0, 1});
  CHECK(larder.batches[1][0]->pass_mode == PassMode::evaluation);
  larder.give_back(1, 0);
  CHECK(larder.indices(1) == Indices{0, 1, 2});
  // The 16 samples of the test set, in batches of 3 per rank: the third batch has samples 12 to 14
  // for rank 0 and one sample for rank 1.
  CHECK(larder.batches[1][1]->samples == 3);
  CHECK(larder.batches[1][2]->samples == 1);
  larder.give_back(1, 1);
  larder.give_back(1, 2);
  CHECK(larder.indices(1) == Indices{0, 1, 2});
  larder.evaluate(1);
  CHECK(larder.indices(1) == Indices{0, 1, 2, 0, 1});
}

TEST_CASE("an unreadable image is reported with its file, rank, step and actor") {
  namespace files = testing;
  const files::ScratchFolder folder;
  for (int i = 0; i < 8; ++i)
    files::write_png(folder / ("train/cat/" + std::to_string(i) + ".png"), files::pattern(8, 8, 3),
                     8, 8, 3);
  files::truncate(folder / "train/cat/5.png", 40);
  auto config = test::small_job();
  config.model.num_classes = 1;
  config.data.dataset = "image_folder";
  config.data.root = folder.path().string();
  config.data.batch_size = 2;
  config.data.shuffle = false;
  Larder larder{config};
  test::HeldStream reads{larder.generation->loader_streams.front().stream};
  larder.begin(0, 0);
  CHECK(larder.indices(0) == Indices{0, 1, 2, 3}); // no batch has been read yet
  reads.work();
  larder.scheduler.run();
  REQUIRE_FALSE(larder.errors.empty());
  CHECK(larder.errors[0].code == Errc::data);
  CHECK_THAT(larder.errors[0].to_string(),
             ContainsSubstring("train/cat/5.png") &&
                 ContainsSubstring("(rank 0, step 3, actor data_loader)"));
}
