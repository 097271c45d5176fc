"""Limits processes to a part of a processor, with Linux's control groups (version 1 or 2; needs root)."""
import os
import pathlib
import time

ROOTS = (pathlib.Path("/sys/fs/cgroup/cpu"), pathlib.Path("/sys/fs/cgroup"))
PERIOD = 10_000  # microseconds: short compared to a step


class CpuQuota:
    """A group that may use `cores` processors, for example 0.4."""

    def __init__(self, name, cores):
        root = next((root for root in ROOTS if (root / "cgroup.procs").exists()), None)
        if not root:
            raise OSError("there are no control groups here to hold a process to a part of a processor")
        self.group = root / f"troupe-{name}"
        self.group.mkdir()
        quota = int(cores * PERIOD)
        if (self.group / "cpu.cfs_quota_us").exists():
            (self.group / "cpu.cfs_period_us").write_text(str(PERIOD))
            (self.group / "cpu.cfs_quota_us").write_text(str(quota))
        else:
            (root / "cgroup.subtree_control").write_text("+cpu")
            (self.group / "cpu.max").write_text(f"{quota} {PERIOD}")

    def take_part(self):
        """Called in a process that is about to start another program: limits it and all its children."""
        (self.group / "cgroup.procs").write_text(str(os.getpid()))

    def remove(self):
        """Removes the group after its processes have ended."""
        for _ in range(100):
            try:
                return self.group.rmdir()
            except OSError:
                time.sleep(0.05)
