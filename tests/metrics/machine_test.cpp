#include "metrics/machine/nvml.hpp"
#include "metrics/machine/process_use.hpp"
#include "metrics/registry/registry.hpp"
#include "tests/metrics/text.hpp"
#include "tests/support/records.hpp"
#include "tests/support/scratch_folder.hpp"

#include <catch2/catch_test_macros.hpp>

#include <chrono>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

using namespace troupe;
using namespace troupe::metrics;
using namespace troupe::testing;

namespace {

/// A tree as below /proc and /sys/fs/cgroup on Linux.
struct Machine {
  SystemFiles files() const { return {folder / "proc", folder / "cgroup"}; }
  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((folder / name).parent_path());
    write_bytes(folder / name, text);
  }
  /// Returns all limits except the address space, which is that of the real process.
  std::vector<HostMemory> found() const {
    auto all = host_memory(files());
    std::erase_if(all, [](const HostMemory& each) { return each.limit == "address_space"; });
    return all;
  }

  ScratchFolder folder;
};

constexpr const char* meminfo = "MemTotal:       1000 kB\nMemFree:        100 kB\n"
                                "MemAvailable:    400 kB\n";

} // namespace

TEST_CASE("a host's memory in use excludes what it can free at once") {
  const Machine machine;
  CHECK(machine.found().empty());
  machine.write("proc/meminfo", meminfo);
  CHECK(machine.found() == std::vector<HostMemory>{{"host", 600 * 1024, 1000 * 1024}});
}

TEST_CASE("the control group closest to its limit is reported") {
  const Machine machine;
  machine.write("proc/meminfo", meminfo);
  machine.write("proc/self/cgroup", "0::/pod/job\n");
  machine.write("cgroup/pod/job/memory.current", "5000\n");
  machine.write("cgroup/pod/job/memory.max", "max\n");
  CHECK(machine.found().size() == 1); // no limit
  machine.write("cgroup/pod/memory.current", "90000\n");
  machine.write("cgroup/pod/memory.max", "100000\n");
  machine.write("cgroup/pod/memory.stat", "anon 70000\ninactive_file 20000\n");
  CHECK(machine.found().at(1) == HostMemory{"cgroup", 70000, 100000});
  machine.write("cgroup/pod/job/memory.max", "6000\n");
  CHECK(machine.found().at(1) == HostMemory{"cgroup", 5000, 6000});
}

TEST_CASE("a container finds its group as the root, even if its path does not exist") {
  const Machine machine;
  machine.write("proc/meminfo", meminfo);
  machine.write("proc/self/cgroup", "0::/kubepods/somewhere\n");
  machine.write("cgroup/memory.current", "30000\n");
  machine.write("cgroup/memory.max", "40000\n");
  CHECK(machine.found().at(1) == HostMemory{"cgroup", 30000, 40000});
}

TEST_CASE("control groups v1 are read, and their value for no limit is recognized") {
  const Machine machine;
  machine.write("proc/meminfo", meminfo);
  machine.write("proc/self/cgroup", "5:cpu,cpuacct:/\n4:memory:/job\n");
  machine.write("cgroup/memory/job/memory.usage_in_bytes", "50000\n");
  machine.write("cgroup/memory/job/memory.stat", "inactive_file 1\ntotal_inactive_file 10000\n");
  machine.write("cgroup/memory/job/memory.limit_in_bytes", "80000\n");
  CHECK(machine.found().at(1) == HostMemory{"cgroup", 40000, 80000});
  machine.write("cgroup/memory/job/memory.limit_in_bytes", "9223372036854771712\n");
  CHECK(machine.found().size() == 1);
}

TEST_CASE("this machine reports its memory") {
  const auto all = host_memory();
  REQUIRE_FALSE(all.empty());
  CHECK(all.front().limit == "host");
  for (const auto& each : all) {
    CAPTURE(each.limit);
    CHECK(each.bytes > 0);
    CHECK(each.bytes < each.limit_bytes);
  }
}

TEST_CASE("a process reports its resource use") {
  const auto before = process_use().value();
  const std::vector<char> memory(64 << 20, 1);
  const int file = ::open("/dev/null", O_RDONLY);
  double sum = 0;
  while (process_use()->cpu_seconds < before.cpu_seconds + 0.05)
    sum += memory[static_cast<std::size_t>(sum) % memory.size()];
  const auto now = process_use().value();
  CHECK(now.open_files == before.open_files + 1);
  CHECK(now.resident_bytes > before.resident_bytes + (48 << 20));
  CHECK(now.virtual_bytes >= now.resident_bytes);
  CHECK(now.threads >= 1);
  CHECK(now.open_files < now.most_files);
  const std::chrono::duration<double> clock = std::chrono::system_clock::now().time_since_epoch();
  CHECK(now.start_time <= clock.count() + 2);
  CHECK(now.start_time > clock.count() - 24 * 3600);
  ::close(file);
}

TEST_CASE("a GPU's numbers come from NVML in base units, by rank") {
  auto nvml = Nvml::open(TROUPE_FAKE_NVML);
  REQUIRE(nvml);
  auto sample = (*nvml)->sample("GPU-whole");
  sample.rank = 3;
  Registry registry(small_run(), false);
  registry.record(sample);
  const auto text = registry.text();
  const std::string labels = "{gpu=\"GPU-whole\",rank=\"3\"} ";
  CHECK(has(text, "troupe_gpu_busy_ratio" + labels + "0.5\n"));
  CHECK(has(text, "troupe_gpu_power_watts" + labels + "300\n"));
  CHECK(has(text, "troupe_gpu_temperature_celsius" + labels + "65\n"));
  CHECK(
      has(text, "troupe_gpu_clock_hertz{clock=\"sm\",gpu=\"GPU-whole\",rank=\"3\"} 1980000000\n"));
  CHECK(has(text,
            "troupe_gpu_clock_hertz{clock=\"memory\",gpu=\"GPU-whole\",rank=\"3\"} 2619000000\n"));
  CHECK(has(text, "troupe_gpu_memory_bytes" + labels + "20000000000\n"));
  CHECK(has(text, "troupe_gpu_memory_total_bytes" + labels + "80000000000\n"));
}

TEST_CASE("values that a GPU does not report are left out, and a missing GPU has none") {
  auto nvml = Nvml::open(TROUPE_FAKE_NVML);
  REQUIRE(nvml);
  const auto reticent = (*nvml)->sample("GPU-reticent");
  CHECK_FALSE(reticent.busy_ratio);
  CHECK_FALSE(reticent.power_watts);
  CHECK_FALSE(reticent.temperature_celsius);
  CHECK_FALSE(reticent.sm_hertz);
  CHECK(reticent.memory_bytes == 20e9);
  CHECK_FALSE((*nvml)->sample("MIG-unknown").memory_bytes);
}

TEST_CASE("a library that is missing or not NVML is refused") {
  const auto missing = Nvml::open("libno-such-thing.so.1");
  REQUIRE_FALSE(missing);
  CHECK(missing.error().code == Errc::unsupported);
  const auto other = Nvml::open("libc.so.6");
  REQUIRE_FALSE(other);
  CHECK(has(other.error().message, "libc.so.6 lacks a function"));
}
