// Tests a CHECKPOINTER that writes the state of a real rank to a real folder.
#include "actors/roles/checkpointer.hpp"
#include "tests/actors/deterministic.hpp"
#include "tests/actors/full_disk.hpp"
#include "tests/actors/small_job.hpp"
#include "tests/support/checkpoint_files.hpp"
#include "tests/support/scratch_folder.hpp"
#include "training/reducer/reducer.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

using namespace troupe;
using namespace troupe::actors;
using Catch::Matchers::ContainsSubstring;
using testing::read_checkpoint;
using testing::ScratchFolder;

namespace {

Config job_that_saves() {
  auto config = test::small_job();
  config.checkpoint.every = {Interval::Unit::steps, 1};
  return config;
}

/// The state of a rank, copied as its SHARD MANAGER copies it, and a CHECKPOINTER.
struct Archive : test::Deterministic {
  explicit Archive(std::int64_t keep = 3) : store{folder.path() / "checkpoints"} {
    checkpointer = test::spawn_state<CheckpointerState, checkpointer_actor>(
        system, CheckpointerSetup{.store = store,
                                  .state = rank_state->state,
                                  .metadata = {{"seed", "7"}},
                                  .plan = {job_that_saves(), 4},
                                  .keep = keep});
    scheduler.run();
  }
  ~Archive() {
    self->send_exit(checkpointer, caf::exit_reason::kill);
    scheduler.run();
  }

  /// Sets every parameter to `value`.
  void set_parameters(float value) const {
    const auto& state = *rank_state->state;
    std::fill_n(state.buffers().parameters(0), state.layout().plan().elements, value);
  }
  SnapshotPtr copy(std::int64_t step) {
    auto snapshot = rank_state->state->begin_snapshot(step);
    REQUIRE(snapshot);
    reducer.copier().take(snapshot->get());
    REQUIRE(rank_state->communication->synchronize());
    return *std::move(snapshot);
  }
  StateChunkPtr copy_chunk(std::int64_t step, std::size_t index) {
    auto chunk = std::make_shared<training::StateChunk>();
    chunk->step = step;
    reducer.copier().gather(index, chunk.get());
    REQUIRE(rank_state->communication->synchronize());
    return chunk;
  }
  template <class Answer, class... Message>
  Answer ask(Message&&... message) {
    Answer taken;
    auto asked = self->request(checkpointer, caf::infinite, std::forward<Message>(message)...);
    scheduler.run();
    asked.receive([&](Answer& answer) { taken = std::move(answer); },
                  [](const caf::error& error) { FAIL(caf::to_string(error)); });
    return taken;
  }
  ShardOutcome write(const SnapshotPtr& snapshot) {
    return ask<ShardOutcome>(atom::snapshot_v, snapshot);
  }
  ShardOutcome write(const StateChunkPtr& chunk, bool writes) {
    return ask<ShardOutcome>(atom::snapshot_v, chunk, writes);
  }
  metrics::CheckpointRecord finish(const ShardOutcome& part) {
    return ask<metrics::CheckpointRecord>(atom::finish_v,
                                          CheckpointShards{.step = part.step, .parts = {part}});
  }
  metrics::CheckpointRecord save(std::int64_t step) { return finish(write(copy(step))); }
  ShardOutcome write_chunks(std::int64_t step) { return take_chunks(step, chunks(), true); }
  ShardOutcome hash_chunks(std::int64_t step) {
    return take_chunks(step, rank_state->state->layout().whole().parameter_chunks(), false);
  }
  ShardOutcome take_chunks(std::int64_t step, std::size_t count, bool write_too) {
    ShardOutcome part;
    for (std::size_t i = 0; i < count; ++i)
      part = write(copy_chunk(step, i), write_too);
    return part;
  }
  std::vector<std::int64_t> steps() const {
    std::vector<std::int64_t> all;
    for (const auto& entry : store.list())
      all.push_back(entry.step);
    return all;
  }
  std::size_t files() const {
    std::error_code none;
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator{store.folder(), none}, {}));
  }
  std::size_t chunks() const { return rank_state->state->layout().whole().size(); }

  ScratchFolder folder;
  CheckpointStore store;
  std::shared_ptr<training::Generation> generation =
      training::build_generation(test::compile_job(job_that_saves(), 1),
                                 training::single_node_assignment(1, "here"))
          .value();
  std::shared_ptr<training::RankState> rank_state = generation->rank_states.front();
  training::GradientReducer reducer{{.rank_state = rank_state}};
  checkpointer_actor checkpointer;
};

using Steps = std::vector<std::int64_t>;

std::string all_bytes(const std::filesystem::path& checkpoint) {
  return testing::read_bytes(checkpoint / model_file) +
         testing::read_bytes(checkpoint / optimizer_file) +
         testing::read_bytes(checkpoint / manifest_name);
}

} // namespace

TEST_CASE("a checkpoint contains the state at the snapshot and is named after its step") {
  Archive archive;
  archive.set_parameters(0.25f);
  const auto snapshot = archive.copy(6);
  archive.set_parameters(0.5f); // training continues
  const auto outcome = archive.finish(archive.write(snapshot));
  CHECK_FALSE(outcome.failure);
  CHECK(outcome.step == 6);
  CHECK(outcome.path == archive.store.path_of(6));
  CHECK(archive.files() == 1);
  CHECK(outcome.bytes == std::filesystem::file_size(archive.store.path_of(6) / model_file) +
                             std::filesystem::file_size(archive.store.path_of(6) / optimizer_file));
  const auto written = read_checkpoint(outcome.path);
  REQUIRE(written);
  CHECK(written->step == 6);
  CHECK(written->epoch == 1);
  CHECK(written->metadata.at("seed") == "7");
  const auto& name = archive.rank_state->state->layout().storage().parameters.front().name;
  REQUIRE(written->find(name));
  CHECK(std::ranges::count(written->find(name)->values, 0.25f) ==
        std::ssize(written->find(name)->values));
  CHECK(written->find(optimizer_tensor_name("momentum", name)));
}

TEST_CASE("a snapshot's memory is free for the next one after all chunks are written") {
  Archive archive;
  const auto& state = *archive.rank_state->state;
  const auto snapshot = archive.copy(1);
  const auto early = state.begin_snapshot(2);
  REQUIRE_FALSE(early);
  CHECK(early.error().message == "the state of step 2 cannot be copied: an earlier copy is still "
                                 "being written");
  for (std::size_t chunk = 1; chunk < state.layout().written().size(); ++chunk)
    snapshot->release(chunk);
  CHECK_FALSE(state.begin_snapshot(2));
  snapshot->release(0);
  CHECK(state.begin_snapshot(2));
  const auto written = archive.copy(3);
  CHECK_FALSE(archive.finish(archive.write(written)).failure);
  CHECK(state.begin_snapshot(4)); // CHECKPOINTER has released all chunks
}

TEST_CASE("a state written in chunks gives the same file as a snapshot") {
  Archive archive;
  const auto whole = archive.save(3);
  const auto bytes = all_bytes(whole.path);
  std::filesystem::remove_all(whole.path);
  REQUIRE(archive.chunks() > 2);
  ShardOutcome part;
  for (std::size_t i = 0; i < archive.chunks(); ++i) {
    CHECK(part.is_last == (i == 0)); // false before the first chunk
    part = archive.write(archive.copy_chunk(3, i), true);
    CHECK(archive.steps().empty()); // a checkpoint appears only when it is complete
  }
  CHECK(part.is_last);
  const auto outcome = archive.finish(part);
  CHECK_FALSE(outcome.failure);
  CHECK(outcome.parameters_sha256.size() ==
        64); // hashed, because no training follows: this is the last checkpoint
  CHECK(all_bytes(whole.path) == bytes);
}

TEST_CASE("a state that is not to be saved is only hashed, without a file") {
  Archive archive;
  const auto written = archive.write_chunks(3);
  CHECK(archive.finish(written).parameters_sha256 == written.parameters_sha256);
  const auto hashed = archive.hash_chunks(4);
  CHECK(hashed.files.empty());
  CHECK(hashed.parameters_sha256 == written.parameters_sha256);
  CHECK(archive.steps() == Steps{3});
  archive.set_parameters(1);
  CHECK(archive.hash_chunks(5).parameters_sha256 != written.parameters_sha256);
}

TEST_CASE("the best checkpoint is marked, with its results, and kept") {
  Archive archive{1};
  for (std::int64_t step = 1; step <= 3; ++step) {
    const auto part = archive.write(archive.copy(step));
    const auto made = archive.ask<metrics::CheckpointRecord>(
        atom::finish_v, CheckpointShards{.step = step,
                                         .parts = {part},
                                         .results = {{"test_loss", std::to_string(step)}},
                                         .is_best = step == 1});
    CHECK_FALSE(made.failure);
  }
  CHECK(archive.steps() == Steps{3, 1});
  const auto best = read_manifest(archive.store.folder() / "best");
  REQUIRE(best);
  CHECK(best->step == 1);
  CHECK(best->metadata.at("test_loss") == "1");
}

TEST_CASE("if one rank cannot write its shard, there is no checkpoint") {
  Archive archive;
  const auto part = archive.write(archive.copy(1));
  const auto made = archive.ask<metrics::CheckpointRecord>(
      atom::finish_v,
      CheckpointShards{.step = 1,
                       .parts = {part, {.rank = 1, .failure = Error{Errc::io, "it is broken"}}}});
  REQUIRE(made.failure);
  CHECK(made.failure->message == "it is broken");
  CHECK(archive.files() == 0);
}

TEST_CASE("the configured number of newest checkpoints is kept") {
  Archive archive{2};
  for (std::int64_t step = 1; step <= 4; ++step)
    CHECK_FALSE(archive.save(step).failure);
  CHECK(archive.steps() == Steps{4, 3});
}

TEST_CASE("a full disk is reported, earlier checkpoints stay and the next one is written") {
  Archive archive{1};
  const auto digest = archive.hash_chunks(1).parameters_sha256;
  CHECK_FALSE(archive.save(1).failure);
  {
    const test::FullDisk full{4096};
    const auto outcome = archive.save(2);
    REQUIRE(outcome.failure);
    CHECK(outcome.failure->code == Errc::no_space);
    CHECK_THAT(outcome.failure->message, ContainsSubstring(archive.store.path_of(2).string()));
    const auto in_chunks =
        archive.write_chunks(2); // a state that cannot be written is still hashed
    CHECK(in_chunks.parameters_sha256 == digest);
    CHECK(archive.finish(in_chunks).failure);
  }
  CHECK(archive.steps() == Steps{1});
  CHECK(archive.files() == 1); // no file of the failed checkpoint
  CHECK_FALSE(archive.save(3).failure);
  CHECK(archive.steps() == Steps{3});
}

TEST_CASE("a folder that cannot be created is reported") {
  Archive archive;
  testing::write_bytes(archive.store.folder(), "a file in its place");
  const auto outcome = archive.save(1);
  REQUIRE(outcome.failure);
  CHECK(outcome.failure->code == Errc::io);
  std::filesystem::remove(archive.store.folder());
  CHECK_FALSE(archive.save(2).failure);
}

TEST_CASE("values that are not finite are not saved, because no run could resume from them") {
  Archive archive;
  archive.save(1);
  archive.set_parameters(std::numeric_limits<float>::infinity());
  const auto outcome = archive.save(2);
  REQUIRE(outcome.failure);
  CHECK(outcome.failure->code == Errc::numeric);
  CHECK(archive.steps() == Steps{1});
}

TEST_CASE(
    "a state whose last chunks are missing leaves no file, and the next checkpoint is complete") {
  Archive archive;
  CHECK_FALSE(archive.write(archive.copy_chunk(1, 0), true).is_last);
  CHECK(archive.files() == 1); // a temporary file
  CHECK(archive.steps().empty());
  CHECK_FALSE(archive.save(2).failure);
  CHECK(archive.steps() == Steps{2});
  CHECK(read_checkpoint(archive.store.path_of(2)));
}

TEST_CASE("partial files of a killed process are removed at startup") {
  const ScratchFolder folder;
  const CheckpointStore store{folder.path()};
  const auto left = store.begin(9).value();
  testing::write_bytes(left / "model.safetensors.tmp-999999999", "half");
  Archive archive;
  const auto another = test::spawn_state<CheckpointerState, checkpointer_actor>(
      archive.system, CheckpointerSetup{.store = store,
                                        .state = archive.rank_state->state,
                                        .plan = {job_that_saves(), 4}});
  archive.scheduler.run();
  CHECK_FALSE(std::filesystem::exists(left));
}

TEST_CASE("a job that ends while it saves removes the unfinished checkpoint") {
  Archive archive;
  REQUIRE_FALSE(archive.save(1).failure);
  CHECK(archive.write(archive.copy(2)).is_last); // the chunks of the other ranks never arrive
  CHECK(archive.files() == 2);
  archive.self->send_exit(archive.checkpointer, caf::exit_reason::user_shutdown);
  archive.scheduler.run();
  CHECK(archive.files() == 1);
  CHECK(archive.steps() == Steps{1});
}
