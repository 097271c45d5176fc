#include "metrics/tensorboard/detail/crc32c.hpp"
#include "metrics/tensorboard/event_file.hpp"
#include "tests/support/records.hpp"
#include "tests/support/scratch_folder.hpp"

#include <catch2/catch_test_macros.hpp>

#include <csignal>
#include <filesystem>

#include <sys/resource.h>

using namespace troupe;
using namespace troupe::testing;
using namespace troupe::metrics;

TEST_CASE("checksums match RFC 3720") {
  CHECK(crc32c("123456789") == 0xe3069283);
  CHECK(crc32c(std::string(32, '\0')) == 0x8a9136aa);
  CHECK(crc32c(std::string(32, '\xff')) == 0x62a8ab43);
}

TEST_CASE("a long run writes fewer and fewer of its steps to event files") {
  CHECK(EventFile::has_step(0));
  CHECK(EventFile::has_step(99'999));
  CHECK(EventFile::has_step(100'000));
  CHECK_FALSE(EventFile::has_step(100'001));
  CHECK(EventFile::has_step(999'990));
  CHECK_FALSE(EventFile::has_step(1'000'010));
  CHECK(EventFile::has_step(1'000'100));
}

TEST_CASE("two event files of the same second have different names") {
  const ScratchFolder folder;
  const auto first = EventFile::create(folder.path(), small_run());
  const auto second = EventFile::create(folder.path(), small_run());
  REQUIRE((first && second));
  CHECK(first->path() != second->path());
}

TEST_CASE("a full disk is an error and leaves only complete records in an event file") {
  const ScratchFolder folder;
  auto events = EventFile::create(folder.path(), small_run());
  REQUIRE(events);
  REQUIRE(events->append(small_step(0)));
  const auto whole = std::filesystem::file_size(events->path());
  rlimit before = {};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const rlimit full = {.rlim_cur = whole + 20, .rlim_max = before.rlim_max};
  std::signal(SIGXFSZ, SIG_IGN);
  ::setrlimit(RLIMIT_FSIZE, &full);
  const auto refused = events->append(small_step(1));
  ::setrlimit(RLIMIT_FSIZE, &before);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Errc::no_space);
  CHECK(std::filesystem::file_size(events->path()) == whole);
  CHECK(events->append(small_step(2)));
  CHECK(std::filesystem::file_size(events->path()) > whole);
}

TEST_CASE("a folder for event files that cannot be created is an error that names it") {
  const auto events = EventFile::create("/proc/nowhere", small_run());
  REQUIRE_FALSE(events);
  CHECK(events.error().message.find("/proc/nowhere") != std::string::npos);
}
