#include "core/checkpoint/store.hpp"
#include "core/checkpoint/write_state.hpp"
#include "core/random.hpp"
#include "tests/support/checkpoint_files.hpp"
#include "tests/support/child_process.hpp"
#include "tests/support/scratch_folder.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <algorithm>
#include <chrono>
#include <set>
#include <sstream>
#include <thread>

#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>

using namespace troupe;
using namespace troupe::testing;
using Catch::Matchers::ContainsSubstring;

namespace {

/// Saves a checkpoint whose values are all the step's number, so that a mixture of two checkpoints
/// is detected.
Status save_step(CheckpointStore& store, std::int64_t step, std::size_t elements = 16) {
  const std::vector<float> values(elements, static_cast<float>(step));
  const auto size = static_cast<std::int64_t>(elements);
  const auto saved =
      save(store, {.step = step, .epoch = 0, .metadata = {}, .tensors = {{"w", {size}, values}}});
  return saved ? Status{} : Status{failure(saved.error())};
}

std::filesystem::path weights_of(const CheckpointStore& store, std::int64_t step) {
  return store.path_of(step) / model_file;
}

/// Damages a file a moment after it was written: clocks of file systems tick slowly.
void damage(const std::filesystem::path& path) {
  const auto written = std::filesystem::last_write_time(path);
  auto bytes = read_bytes(path);
  bytes[bytes.size() - 2] = static_cast<char>(bytes[bytes.size() - 2] ^ 4);
  write_bytes(path, bytes);
  std::filesystem::last_write_time(path, written + std::chrono::seconds{1});
}

std::set<std::string> names_in(const std::filesystem::path& folder) {
  std::set<std::string> names;
  for (const auto& file : std::filesystem::directory_iterator(folder))
    names.insert(file.path().filename().string());
  return names;
}

std::vector<std::int64_t> steps_of(const std::vector<CheckpointStore::Entry>& entries) {
  std::vector<std::int64_t> steps;
  steps.reserve(entries.size());
  for (const auto& entry : entries)
    steps.push_back(entry.step);
  return steps;
}

} // namespace

TEST_CASE("a store without a folder is empty, and saving creates the folder") {
  const ScratchFolder folder;
  CheckpointStore store(folder / "runs/a/checkpoints");
  CHECK(store.list().empty());
  CHECK_FALSE(store.newest_valid().entry);
  CHECK(store.prune(1)->empty());
  REQUIRE(save_step(store, 123));
  CHECK(names_in(store.folder()) == std::set<std::string>{"step-000000123"});
}

TEST_CASE("an unreadable folder is reported instead of treated as empty") {
  const ScratchFolder folder;
  write_bytes(folder / "checkpoints", "a file");
  CheckpointStore store(folder / "checkpoints");
  const auto newest = store.newest_valid();
  CHECK_FALSE(newest.entry);
  REQUIRE(newest.skipped.size() == 1);
  CHECK(newest.skipped[0].code == Errc::io);
  CHECK(save_step(store, 1).error().code == Errc::io);
}

TEST_CASE("checkpoints are listed newest first, without other files") {
  const ScratchFolder folder;
  CheckpointStore store(folder.path());
  for (const std::int64_t step : {9, 1'000'000'000, 10})
    REQUIRE(save_step(store, step));
  for (const auto* name : {"step-1.safetensors", "step-00000000x.safetensors", "notes.txt",
                           "step-000000011.safetensors.bak", "step-000000012"})
    write_bytes(folder / name, "x");
  for (const auto* name : {"step-000000099.safetensors", "step-1", "step-000000098.partial"})
    std::filesystem::create_directory(folder / name);
  write_bytes(folder / "step-000000007.safetensors", "a file of version 1");
  CHECK(steps_of(store.list()) == std::vector<std::int64_t>{1'000'000'000, 10, 9, 7});
}

TEST_CASE("a damaged checkpoint is named, and the previous one is used") {
  const ScratchFolder folder;
  CheckpointStore store(folder.path());
  for (const std::int64_t step : {1, 2, 3, 4})
    REQUIRE(save_step(store, step));
  damage(weights_of(store, 4));
  std::filesystem::resize_file(weights_of(store, 3), 100);

  const auto newest = store.newest_valid();
  REQUIRE(newest.entry);
  CHECK(newest.entry->step == 2);
  CHECK(newest.state->header().step == 2);
  REQUIRE(newest.skipped.size() == 2);
  CHECK(newest.skipped[0].code == Errc::corrupt);
  CHECK_THAT(newest.skipped[0].message, ContainsSubstring(store.path_of(4).string()));
  CHECK_THAT(newest.skipped[1].message, ContainsSubstring(store.path_of(3).string()));
}

TEST_CASE("pruning keeps the newest checkpoints") {
  const ScratchFolder folder;
  CheckpointStore store(folder.path());
  for (std::int64_t step = 1; step <= 5; ++step)
    REQUIRE(save_step(store, step));
  write_bytes(folder / "notes.txt", "x");
  const auto deleted = store.prune(3);
  REQUIRE(deleted);
  CHECK(steps_of(*deleted) == std::vector<std::int64_t>{2, 1});
  CHECK(steps_of(store.list()) == std::vector<std::int64_t>{5, 4, 3});
  REQUIRE(store.prune(0));
  CHECK(steps_of(store.list()) == std::vector<std::int64_t>{5});
  CHECK(std::filesystem::exists(folder / "notes.txt"));
}

TEST_CASE("pruning never deletes the newest valid checkpoint") {
  const ScratchFolder folder;
  CheckpointStore store(folder.path());
  for (std::int64_t step = 1; step <= 5; ++step)
    REQUIRE(save_step(store, step));
  CHECK(store.newest_valid().entry->step == 5); // which the store remembers as valid
  for (const std::int64_t step : {3, 4, 5})
    damage(weights_of(store, step));
  REQUIRE(store.prune(2));
  CHECK(steps_of(store.list()) == std::vector<std::int64_t>{5, 4, 2});
  CHECK(store.newest_valid().entry->step == 2);
}

TEST_CASE("the best checkpoint is found by its link and is not pruned") {
  const ScratchFolder folder;
  CheckpointStore store(folder.path());
  CHECK_FALSE(store.best());
  for (std::int64_t step = 1; step <= 5; ++step)
    REQUIRE(save_step(store, step));
  for (const std::int64_t step : {1, 2}) { // the second mark replaces the first
    REQUIRE(store.mark_best(step));
    REQUIRE(store.best());
    CHECK(store.best()->step == step);
  }
  REQUIRE(store.prune(2));
  CHECK(steps_of(store.list()) == std::vector<std::int64_t>{5, 4, 2});
  CHECK(open_state(folder / "best").value()->header().step == 2);
  std::filesystem::remove_all(store.path_of(2));
  CHECK_FALSE(store.best());
}

TEST_CASE("a checkpoint exists once its manifest does, and replaces one of the same step") {
  const ScratchFolder folder;
  CheckpointStore store(folder.path());
  REQUIRE(save_step(store, 3, 8));
  const auto partial = store.begin(3);
  REQUIRE(partial);
  CHECK(store.begin(3).value() == *partial); // as another process would
  const std::vector<TensorPart> whole = {{.name = "w", .shape = {2}, .stored = 2, .elements = 2}};
  auto writer = StateWriter::part(*partial, 0, 1, whole);
  REQUIRE(writer);
  REQUIRE(writer->append(std::vector<float>{1, 2}));
  const auto files = writer->commit();
  REQUIRE(files);
  CHECK(store.newest_valid().state->header().tensors[0].shape == Shape{8});
  REQUIRE(store.finish({.step = 3, .epoch = 1, .metadata = {}, .files = *files}));
  CHECK(names_in(folder.path()) == std::set<std::string>{"step-000000003"});
  CHECK(store.newest_valid().state->header().tensors[0].shape == Shape{2});
  REQUIRE(store.begin(4));
  store.abandon(4);
  CHECK(names_in(folder.path()) == std::set<std::string>{"step-000000003"});
}

TEST_CASE("too little space for a checkpoint: an error with sizes, and nothing else changes") {
  const ScratchFolder folder;
  CheckpointStore store(folder.path());
  REQUIRE(save_step(store, 1));
  // A root user could fill any disk, but the limit on file sizes applies to every user: the write
  // itself fails.
  ChildProcess child([&](int out) {
    const rlimit limit{.rlim_cur = 65536, .rlim_max = 65536};
    std::signal(SIGXFSZ, SIG_IGN);
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0)
      return;
    const auto status = save_step(store, 2, 1 << 20);
    write_text(out, status ? "saved" : status.error().to_string());
  });
  const auto message = child.wait_for_output();
  CHECK_THAT(message, ContainsSubstring("no space left: "));
  CHECK_THAT(message, ContainsSubstring(store.path_of(2).string()));
  CHECK_THAT(message, ContainsSubstring("bytes needed"));
  CHECK(names_in(folder.path()) == std::set<std::string>{"step-000000001"});
  CHECK(store.newest_valid().entry->step == 1);
}

TEST_CASE("a full disk: an error with sizes, older checkpoints stay, smaller ones still succeed") {
  const ScratchFolder folder;
  // The mount exists only in the child and ends with it.
  ChildProcess child([&](int out) {
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("none", folder.path().c_str(), "tmpfs", 0, "size=1m") != 0)
      return write_text(out, "cannot mount");
    CheckpointStore store(folder.path());
    const auto first = save_step(store, 1), second = save_step(store, 2, 1 << 20),
               third = save_step(store, 3);
    std::ostringstream text;
    text << first.has_value() << ' ' << third.has_value() << ' '
         << (second ? "saved" : second.error().to_string()) << " files";
    for (const auto& name : names_in(folder.path()))
      text << ' ' << name;
    write_text(out, text.str());
  });
  const auto report = child.wait_for_output();
  if (report == "cannot mount")
    SKIP("mounting a small disk needs root");
  CHECK_THAT(report, Catch::Matchers::StartsWith("1 1 no space left: "));
  CHECK_THAT(report, ContainsSubstring("4194"));
  CHECK_THAT(report, Catch::Matchers::EndsWith(" files step-000000001 step-000000003"));
}

TEST_CASE("marker files of failed gatherings are not checkpoints, and are removed") {
  const ScratchFolder folder;
  CheckpointStore store(folder.path());
  REQUIRE(save_step(store, 1));
  const auto mark = std::string{CheckpointStore::mark_prefix} + "1-2-3";
  for (const auto& name : {mark, mark + "-1", mark + ".tmp-7", std::string{"somebody's"}})
    write_bytes(folder / name, "");
  std::filesystem::create_directory(folder / ".shared-folder");
  CHECK(store.newest_valid().skipped.empty());
  CHECK(store.remove_temporaries()->size() == 3);
  CHECK(names_in(folder.path()) ==
        std::set<std::string>{"step-000000001", "somebody's", ".shared-folder"});
}

TEST_CASE("a writer killed at any moment leaves a complete newest checkpoint") {
  const ScratchFolder folder;
  CheckpointStore store(folder.path());
  CounterRng random{1, 1};
  std::int64_t newest_step = 0;
  std::size_t unfinished = 0;
  for (int round = 0; round < 20; ++round) {
    ChildProcess child([&](int out) {
      for (std::int64_t step = newest_step + 1;; ++step) {
        if (!save_step(store, step, 1 << 18) || !store.prune(2))
          return write_text(out, "failed\n");
        write_text(out, std::to_string(step) + "\n");
      }
    });
    if (round == 0)
      REQUIRE(child.wait_for_first_output(30'000));
    std::this_thread::sleep_for(std::chrono::microseconds(random.below(40'000)));
    child.kill();

    const auto report = child.wait_for_output();
    REQUIRE_THAT(report, !ContainsSubstring("failed"));
    std::istringstream reported(report);
    std::int64_t promised = newest_step;
    while (reported >> promised) {
    }
    const auto newest = store.newest_valid();
    REQUIRE(newest.entry);
    REQUIRE(newest.entry->step >= promised);
    for (const auto& error : newest.skipped)
      CHECK_THAT(error.message, ContainsSubstring("an unfinished checkpoint"));
    const auto whole = read_whole(*newest.state);
    REQUIRE(whole);
    REQUIRE(whole->find("w"));
    REQUIRE(std::ranges::all_of(whole->find("w")->values, [&](float value) {
      return value == static_cast<float>(newest.entry->step);
    }));
    newest_step = newest.entry->step;
    const auto removed = store.remove_temporaries();
    REQUIRE(removed);
    CHECK(removed->size() == newest.skipped.size());
    unfinished += removed->size();
  }
  CHECK(newest_step > 0);
  CHECK(unfinished > 0); // otherwise no kill interrupted a write
}
