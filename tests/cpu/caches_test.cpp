#include "cpu/caches.hpp"
#include "tests/support/scratch_folder.hpp"

#include <catch2/catch_test_macros.hpp>

#include <filesystem>
#include <fstream>
#include <string>

using namespace troupe;
using namespace troupe::cpu;

namespace {

/// A folder like the system's, with one entry per cache.
class ListedCaches {
public:
  void add(const char* level, const char* type, const char* size, const char* processors) {
    const auto entry = folder_.path() / ("index" + std::to_string(entries_++));
    std::filesystem::create_directories(entry);
    std::ofstream{entry / "level"} << level << "\n";
    std::ofstream{entry / "type"} << type << "\n";
    std::ofstream{entry / "size"} << size << "\n";
    std::ofstream{entry / "shared_cpu_list"} << processors << "\n";
  }
  Caches read() const { return read_caches(folder_.path()); }

private:
  testing::ScratchFolder folder_;
  int entries_ = 0;
};

} // namespace

TEST_CASE("caches have the listed sizes, shared by the listed processors") {
  ListedCaches listed;
  listed.add("1", "Data", "48K", "0,64");
  listed.add("1", "Instruction", "32K", "0,64");
  listed.add("2", "Unified", "2048K", "0,64");
  listed.add("3", "Unified", "32M", "0-7,64-71");
  const auto found = listed.read();
  CHECK(found.l1.bytes == 48 << 10);
  CHECK(found.l1.threads == 2);
  CHECK(found.l2.bytes == 2 << 20);
  CHECK(found.l2.bytes_per_thread() == 1 << 20);
  CHECK(found.l3.bytes == 32 << 20);
  CHECK(found.l3.threads == 16);
}

TEST_CASE("a system that hides its caches has small ones, and no third level") {
  const auto found = ListedCaches{}.read();
  CHECK(found.l1.bytes == 32 << 10);
  CHECK(found.l2.bytes_per_thread() == 512 << 10);
  CHECK(found.l3.bytes == 0);
}

TEST_CASE("sizes and lists that are no numbers count as hidden") {
  ListedCaches listed;
  listed.add("1", "Data", "", "0");
  listed.add("2", "Unified", "big", "all");
  listed.add("3", "Unified", "16384K", "");
  const auto found = listed.read();
  CHECK(found.l1.bytes == 32 << 10);
  CHECK(found.l2.bytes == 512 << 10);
  CHECK(found.l2.threads == 1);
  CHECK(found.l3.bytes == 16 << 20);
  CHECK(found.l3.threads == 1);
}

TEST_CASE("this machine has a first and a second level") {
  CHECK(caches().l1.bytes > 0);
  CHECK(caches().l2.bytes_per_thread() > 0);
}
