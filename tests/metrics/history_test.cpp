// Tests the lines of a run on a node that may lead the run later.
#include "metrics/report/history.hpp"
#include "tests/support/scratch_folder.hpp"

#include <catch2/catch_test_macros.hpp>

#include <string>

using namespace troupe;
using namespace troupe::metrics;
using namespace troupe::testing;

namespace {

/// Requests parts until none is left.
void follow(KeptHistory& kept, const std::filesystem::path& run, const std::string& opening) {
  for (auto part = read_history(run, opening, kept.place()); !part.bytes.empty();
       part = read_history(run, opening, kept.place()))
    REQUIRE(kept.add(part));
}

} // namespace

TEST_CASE("a run's history is copied to another folder in chunks and handed over") {
  const ScratchFolder leaders, followers;
  std::string steps;
  for (int i = 0; i < 20000; ++i)
    steps += "{\"step\": " + std::to_string(i) + "}\n";
  write_bytes(leaders / "events.jsonl", steps.substr(0, 1000));
  write_bytes(leaders / "epochs.jsonl", "{}\n");
  KeptHistory kept{followers.path()};
  follow(kept, leaders.path(), "1");
  write_bytes(leaders / "events.jsonl", steps);
  follow(kept, leaders.path(), "1");
  write_bytes(followers / "events.jsonl", "of another run");

  REQUIRE(kept.hand_over());
  CHECK(read_bytes(followers / "events.jsonl") == steps);
  CHECK(read_bytes(followers / "epochs.jsonl") == "{}\n");
  CHECK_FALSE(std::filesystem::exists(followers / ".history"));
}

TEST_CASE("when the leader's folder is reopened, its lines are copied from the beginning") {
  const ScratchFolder leaders, followers;
  write_bytes(leaders / "events.jsonl", "first\nsecond\nthird\n");
  KeptHistory kept{followers.path()};
  follow(kept, leaders.path(), "1");
  write_bytes(leaders / "events.jsonl", "first\nother\n");
  follow(kept, leaders.path(), "2");
  REQUIRE(kept.hand_over());
  CHECK(read_bytes(followers / "events.jsonl") == "first\nother\n");
}

TEST_CASE("copied lines are not written through symbolic links") {
  const ScratchFolder run, elsewhere;
  write_bytes(elsewhere / "events.jsonl", "of somebody else");
  std::filesystem::create_directory_symlink(elsewhere.path(), run / ".history");
  KeptHistory kept{run.path()};
  REQUIRE(kept.add({"1", 0, 0, "first\n"}));
  std::filesystem::create_symlink(elsewhere / "events.jsonl", run / ".history/epochs.jsonl");
  CHECK_FALSE(kept.add({"1", 1, 0, "first\n"}));
  CHECK(read_bytes(elsewhere / "events.jsonl") == "of somebody else");
}

TEST_CASE("a chunk that does not follow the copied ones is ignored") {
  const ScratchFolder folder;
  KeptHistory kept{folder.path()};
  REQUIRE(kept.add({"1", 0, 0, "first\n"}));
  REQUIRE(kept.add({"1", 0, 100, "late\n"}));
  REQUIRE(kept.add({"1", 7, 0, "of no file\n"}));
  CHECK(kept.place().bytes[0] == 6);
}
