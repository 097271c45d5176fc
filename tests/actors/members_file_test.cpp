#include "actors/membership/members_file.hpp"
#include "tests/support/nested_json.hpp"
#include "tests/support/scratch_folder.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace troupe;
using namespace troupe::actors;

TEST_CASE("members.json is read back as it was written") {
  const testing::ScratchFolder folder;
  training::GenerationRecord record{.number = 3};
  record.nodes.push_back({.address = "a:7401", .process = "1"});
  record.voters.push_back({"a:7401", "1"});
  REQUIRE(write_members(folder.path(), record));
  const auto members = read_members(folder.path());
  CHECK(members.generation == 3);
  REQUIRE(members.nodes.size() == 1);
  CHECK(members.nodes.front().address == "a:7401");
  CHECK(members.voters == record.voters);
}

TEST_CASE("members.json nested 100,000 deep names no members") {
  const testing::ScratchFolder folder;
  for (const auto* key : {"generation", "nodes", "voters"}) {
    testing::write_bytes(folder / members_file, "{\"generation\":3,\"" + std::string{key} +
                                                    "\":" + testing::deeply_nested() + "}");
    const auto members = read_members(folder.path());
    CHECK(members.generation == 0);
    CHECK(members.nodes.empty());
    CHECK(members.voters.empty());
  }
}
