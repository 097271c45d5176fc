// Tests a writer that has lost a run's folder: it can no longer change anything there.
#include "core/atomic_file.hpp"
#include "core/checkpoint/store.hpp"
#include "core/checkpoint/write_state.hpp"
#include "core/staging.hpp"
#include "tests/support/scratch_folder.hpp"

#include <catch2/catch_test_macros.hpp>

#include <string>
#include <thread>

using namespace troupe;
using namespace troupe::testing;

namespace {

/// A process that writes a run.
struct Writer {
  Writer(const std::filesystem::path& run, const std::string& name, Claim claim = Claim::begins)
      : staging{staging_of(run, name)}, store{run / "checkpoints", staging} {
    REQUIRE(claim_staging(run, name, claim));
  }

  /// Writes a whole checkpoint except for its final name.
  void begin(std::int64_t step, float value) {
    const auto folder = store.begin(step);
    REQUIRE(folder);
    const std::vector<float> values(16, value);
    const Checkpoint checkpoint{
        .step = step, .epoch = 0, .metadata = {}, .tensors = {{"w", {16}, values}}};
    auto writer = StateWriter::full(*folder, state_in_memory(checkpoint)->header());
    REQUIRE(writer);
    REQUIRE(writer->append(values));
    const auto files = writer->commit();
    REQUIRE(files);
    manifest = {.step = step, .epoch = 0, .metadata = {}, .files = *files};
  }
  auto finish() { return store.finish(manifest); }

  std::filesystem::path staging;
  CheckpointStore store;
  Manifest manifest;
};

float value_of(CheckpointStore& store) {
  const auto newest = store.newest_valid();
  REQUIRE(newest.state);
  return read_whole(*newest.state)->tensors.front().values.front();
}

} // namespace

TEST_CASE("a checkpoint is written in the staging directory and then renamed") {
  const ScratchFolder run;
  Writer writer{run.path(), "1-a"};
  writer.begin(7, 1);
  CHECK(writer.store.list().empty());
  REQUIRE(writer.finish());
  CHECK(value_of(writer.store) == 1);
  CHECK(std::filesystem::is_empty(writer.staging));
}

TEST_CASE("a writer that lost the folder neither finishes nor begins a checkpoint") {
  const ScratchFolder run;
  Writer before{run.path(), "1-a"};
  before.begin(7, 1);
  Writer now{run.path(), "2-b", Claim::takes_over};
  SECTION("the new writer has no checkpoint of that step") {
    CHECK_FALSE(before.finish());
    CHECK(now.store.list().empty());
  }
  SECTION("the new writer has one") {
    now.begin(7, 2);
    REQUIRE(now.finish());
    CHECK_FALSE(before.finish());
    CHECK(value_of(now.store) == 2);
  }
  CHECK_FALSE(before.store.begin(8));
  CHECK_FALSE(before.store.mark_best(7));
  CHECK_FALSE(std::filesystem::exists(before.staging));
}

TEST_CASE("a writer that takes over too late gets nothing and removes nothing") {
  const ScratchFolder run;
  REQUIRE(claim_staging(run.path(), "2-a"));
  Writer later{run.path(), "10-c", Claim::takes_over};
  later.begin(7, 1);
  const auto late = claim_staging(run.path(), "9-b", Claim::takes_over);
  REQUIRE_FALSE(late);
  CHECK(late.error().code == Errc::network);
  CHECK_FALSE(std::filesystem::exists(staging_of(run.path(), "9-b")));
  CHECK_FALSE(std::filesystem::exists(staging_of(run.path(), "2-a")));
  REQUIRE(later.finish());
  CHECK(value_of(later.store) == 1);
}

TEST_CASE("a job that begins takes over the folder, whatever a previous job left there") {
  const ScratchFolder run;
  REQUIRE(claim_staging(run.path(), "12-a"));
  REQUIRE(claim_staging(run.path(), "1-b"));
  CHECK_FALSE(std::filesystem::exists(staging_of(run.path(), "12-a")));
  CHECK(std::filesystem::exists(staging_of(run.path(), "1-b")));
}

TEST_CASE("a following node removes only the staging directories of earlier writers") {
  const ScratchFolder run;
  for (const auto* writer : {"1-a", "9-b", "10-c", "10-d", "11-e"})
    std::filesystem::create_directory(staging_of(run.path(), writer));
  write_bytes(staging_of(run.path(), "1-a") / "events.jsonl", "begun");
  std::filesystem::create_directory(run / "checkpoints");
  remove_earlier_staging(run.path(), "10-c");
  for (const auto* writer : {"1-a", "9-b"})
    CHECK_FALSE(std::filesystem::exists(staging_of(run.path(), writer)));
  for (const auto* writer : {"10-c", "10-d", "11-e"})
    CHECK(std::filesystem::exists(staging_of(run.path(), writer)));
  CHECK(std::filesystem::exists(run / "checkpoints"));
  remove_earlier_staging(run / "none", "10-c");
}

TEST_CASE("nodes that remove the same staging directory at once do not disturb each other") {
  const ScratchFolder run;
  for (int round = 0; round < 300; ++round) {
    const auto lost = staging_of(run.path(), "1-a");
    std::filesystem::create_directory(lost);
    for (int file = 0; file < 20; ++file)
      write_bytes(lost / std::to_string(file), "begun");
    std::jthread follower{[&] { remove_earlier_staging(run.path(), "2-b"); }};
    const auto claimed = claim_staging(run.path(), "2-b", Claim::takes_over);
    CAPTURE(round, claimed ? std::string{} : claimed.error().message);
    REQUIRE(claimed);
  }
}

TEST_CASE("a writer that lost the folder replaces no file") {
  const ScratchFolder run;
  const Writer before{run.path(), "1-a"};
  auto late = AtomicFile::create(run / "report.html", before.staging);
  REQUIRE(late);
  REQUIRE(late->write("of the first"));
  const Writer now{run.path(), "2-b", Claim::takes_over};
  REQUIRE(write_file_atomically(run / "report.html", "of the second", now.staging));
  CHECK_FALSE(late->commit());
  CHECK_FALSE(write_file_atomically(run / "report.html", "of the first", before.staging));
  CHECK(read_bytes(run / "report.html") == "of the second");
}
