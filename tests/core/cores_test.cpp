// Tests the count of cores that a process may use, in trees of control groups that the test writes.
#include "core/cores.hpp"
#include "tests/support/scratch_folder.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace troupe;
using namespace troupe::testing;

namespace {

/// A machine's files below /proc and /sys/fs/cgroup, as Linux writes them.
class Machine {
public:
  /// `groups`: the control groups of the process.
  explicit Machine(const std::string& groups) { write("proc/self/cgroup", groups); }

  /// Sets the quota of a version 2 group; `folder` is the group's folder.
  void set_quota(const std::string& folder, const std::string& quota_and_period) const {
    write("cgroup/" + folder + "/cpu.max", quota_and_period);
  }
  /// Sets the quota of a version 1 group, in microseconds per 100 ms.
  void set_quota_us(const std::string& folder, int quota) const {
    write("cgroup/" + folder + "/cpu.cfs_quota_us", std::to_string(quota) + "\n");
    write("cgroup/" + folder + "/cpu.cfs_period_us", "100000\n");
  }
  std::optional<double> quota() const {
    return usable_cores({folder_ / "proc", folder_ / "cgroup"}).quota;
  }

private:
  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((folder_ / name).parent_path());
    write_bytes(folder_ / name, text);
  }

  ScratchFolder folder_;
};

int count(int allowed, std::optional<double> quota) {
  return UsableCores{.allowed = allowed, .quota = quota}.count();
}

} // namespace

TEST_CASE("without control group files there is no quota") {
  const ScratchFolder empty;
  CHECK_FALSE(usable_cores({empty / "proc", empty / "cgroup"}).quota);
}

TEST_CASE("a quota of control groups v2 limits the cores") {
  const Machine machine{"0::/pod/job\n"};
  CHECK_FALSE(machine.quota());
  machine.set_quota("pod/job", "max 100000\n");
  CHECK_FALSE(machine.quota());
  machine.set_quota("pod/job", "150000 100000\n");
  CHECK(machine.quota() == 1.5);
}

TEST_CASE("the smallest quota of a group and its parents applies") {
  const Machine machine{"0::/pod/job\n"};
  machine.set_quota("pod/job", "400000 100000\n");
  machine.set_quota("pod", "100000 50000\n");
  CHECK(machine.quota() == 2);
  machine.set_quota("pod/job", "50000 100000\n");
  CHECK(machine.quota() == 0.5);
}

TEST_CASE("a container that sees its group as the root has the root's quota") {
  const Machine machine{"0::/kubepods/somewhere\n"};
  machine.set_quota("", "300000 100000\n");
  CHECK(machine.quota() == 3);
}

TEST_CASE("a quota of control groups v1 limits the cores") {
  const Machine machine{"5:memory:/m\n4:cpu,cpuacct:/docker/id\n1:name=systemd:/\n"};
  machine.set_quota_us("cpu/docker/id", -1);
  CHECK_FALSE(machine.quota());
  machine.set_quota_us("cpu/docker/id", 250000);
  CHECK(machine.quota() == 2.5);
}

TEST_CASE("a v1 hierarchy may be mounted only under all its controllers' names") {
  const Machine machine{"4:cpuacct,cpu:/job\n0::/job\n"};
  machine.set_quota_us("cpuacct,cpu/job", 200000);
  CHECK(machine.quota() == 2);
}

TEST_CASE("invalid control group files set no limit") {
  const Machine machine{"nonsense\n0::/job\n::\n"};
  for (const std::string text : {"", "x y", "100000", "100000 0", "-5 100000", "0 100000"}) {
    CAPTURE(text);
    machine.set_quota("job", text);
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
