// Cores that a process may use, in trees of control groups that the test writes.
#include "scratch_folder.hpp"

#include "troupe/core/cores.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace troupe;
using namespace troupe::testing;

namespace {

/// A tree as Linux has it below /proc and /sys/fs/cgroup.
struct Machine {
  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((folder / name).parent_path());
    write_bytes(folder / name, text);
  }
  std::optional<double> quota() const {
    return usable_cores({folder / "proc", folder / "cgroup"}).quota;
  }

  ScratchFolder folder;
};

int count(int allowed, std::optional<double> quota) {
  return UsableCores{.allowed = allowed, .quota = quota}.count();
}

} // namespace

TEST_CASE("a quota of control groups of version 2 limits the cores") {
  const Machine machine;
  CHECK_FALSE(machine.quota());
  machine.write("proc/self/cgroup", "0::/pod/job\n");
  machine.write("cgroup/pod/job/cpu.max", "max 100000\n");
  CHECK_FALSE(machine.quota());
  machine.write("cgroup/pod/job/cpu.max", "150000 100000\n");
  CHECK(machine.quota() == 1.5);
}

TEST_CASE("the tightest quota of a group and its parents counts") {
  const Machine machine;
  machine.write("proc/self/cgroup", "0::/pod/job\n");
  machine.write("cgroup/pod/job/cpu.max", "400000 100000\n");
  machine.write("cgroup/pod/cpu.max", "100000 50000\n");
  CHECK(machine.quota() == 2);
  machine.write("cgroup/pod/job/cpu.max", "50000 100000\n");
  CHECK(machine.quota() == 0.5);
}

TEST_CASE("a container that sees its group as the root has the root's quota") {
  const Machine machine;
  machine.write("proc/self/cgroup", "0::/kubepods/somewhere\n");
  machine.write("cgroup/cpu.max", "300000 100000\n");
  CHECK(machine.quota() == 3);
}

TEST_CASE("a quota of control groups of version 1 limits the cores") {
  const Machine machine;
  machine.write("proc/self/cgroup", "5:memory:/m\n4:cpu,cpuacct:/docker/id\n1:name=systemd:/\n");
  machine.write("cgroup/cpu/docker/id/cpu.cfs_quota_us", "-1\n");
  machine.write("cgroup/cpu/docker/id/cpu.cfs_period_us", "100000\n");
  CHECK_FALSE(machine.quota());
  machine.write("cgroup/cpu/docker/id/cpu.cfs_quota_us", "250000\n");
  CHECK(machine.quota() == 2.5);
}

TEST_CASE("a hierarchy of version 1 may be mounted under all its controllers' names only") {
  const Machine machine;
  machine.write("proc/self/cgroup", "4:cpuacct,cpu:/job\n0::/job\n");
  machine.write("cgroup/cpuacct,cpu/job/cpu.cfs_quota_us", "200000\n");
  machine.write("cgroup/cpuacct,cpu/job/cpu.cfs_period_us", "100000\n");
  CHECK(machine.quota() == 2);
}

TEST_CASE("files of control groups that make no sense are no limit") {
  const Machine machine;
  machine.write("proc/self/cgroup", "nonsense\n0::/job\n::\n");
  for (const std::string text : {"", "x y", "100000", "100000 0", "-5 100000", "0 100000"}) {
    CAPTURE(text);
    machine.write("cgroup/job/cpu.max", text);
    CHECK_FALSE(machine.quota());
  }
}

TEST_CASE("a process uses the cores of its affinity, or fewer if its quota is smaller") {
  CHECK(count(8, {}) == 8);
  CHECK(count(8, 3) == 3);
  CHECK(count(8, 2.5) == 3); // two cores would leave a fifth of the quota unused
  CHECK(count(8, 0.1) == 1);
  CHECK(count(2, 64) == 2);
  CHECK(count(2, 1e300) == 2);
}

TEST_CASE("the description of the cores names what limits them") {
  CHECK(describe_cores({.allowed = 4}, 64) == "4 usable of 64");
  CHECK(describe_cores({.allowed = 4, .quota = 1.5}, 64) ==
        "2 usable of 64 (affinity: 4, CPU quota of the control group: 1.5)");
}
