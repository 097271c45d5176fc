#include "core/atomic_file.hpp"
#include "tests/support/scratch_folder.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

using namespace troupe;
using namespace troupe::testing;

TEST_CASE("an atomic file appears complete when it is committed") {
  const ScratchFolder folder;
  write_bytes(folder / "a", "old");
  auto file = AtomicFile::create(folder / "a");
  REQUIRE(file);
  REQUIRE(file->write("new "));
  REQUIRE(file->write("text"));
  CHECK(file->bytes_written() == 8);
  CHECK(read_bytes(folder / "a") == "old");
  REQUIRE(file->commit());
  CHECK(read_bytes(folder / "a") == "new text");
  CHECK(file->commit().error().code == Errc::internal);
  CHECK(file->write("more").error().code == Errc::internal);
}

TEST_CASE("an atomic file that is not committed leaves no file") {
  const ScratchFolder folder;
  write_bytes(folder / "a", "old");
  {
    auto file = AtomicFile::create(folder / "a");
    REQUIRE(file->write("new"));
    const auto moved = std::move(*file);
  }
  CHECK(read_bytes(folder / "a") == "old");
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);
}

TEST_CASE("two writers of the same atomic file do not write into each other's file") {
  const ScratchFolder folder;
  auto first = AtomicFile::create(folder / "a"), second = AtomicFile::create(folder / "a");
  REQUIRE((first && second));
  REQUIRE(first->write("of the first"));
  REQUIRE(second->write("of the second"));
  REQUIRE(first->commit());
  CHECK(read_bytes(folder / "a") == "of the first");
  REQUIRE(second->commit());
  CHECK(read_bytes(folder / "a") == "of the second");
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);
}

TEST_CASE("an atomic file that cannot be created or renamed reports why") {
  const ScratchFolder folder;
  const auto absent = AtomicFile::create(folder / "absent/a");
  REQUIRE_FALSE(absent);
  CHECK(absent.error().code == Errc::io);
  CHECK_THAT(absent.error().message, Catch::Matchers::ContainsSubstring("No such file"));

  std::filesystem::create_directory(folder / "a");
  const auto taken = AtomicFile::create(folder / "a"); // at once, before the commit
  REQUIRE_FALSE(taken);
  CHECK(taken.error().code == Errc::io);
  CHECK_THAT(taken.error().message, Catch::Matchers::EndsWith("Is a directory"));
  CHECK(std::distance(std::filesystem::directory_iterator(folder.path()), {}) == 1);
}

TEST_CASE("temporary files are recognized by their names") {
  CHECK(AtomicFile::target_of("runs/a.json.tmp-123") == "runs/a.json");
  CHECK(AtomicFile::target_of(temporary_name("runs/a.json")) == "runs/a.json");
  CHECK_FALSE(AtomicFile::target_of("a.json"));
  CHECK_FALSE(AtomicFile::target_of("a.json.tmp-"));
  CHECK_FALSE(AtomicFile::target_of("a.json.tmp-12x"));
  CHECK_FALSE(AtomicFile::target_of(".tmp-123"));
}
