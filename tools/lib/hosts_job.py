"""A job of several daemons that trains until it is ended, each on its own emulated host (tools/network-namespaces; needs root)."""
import datetime
import json
import pathlib
import subprocess
import sys
import time

import run_files
from cpu_quota import CpuQuota
from network_hosts import NetworkHosts

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIMIT = 120  # limit of every wait, in seconds
RESNET = {
    "model.name": "resnet20",
    "data.dataset": "synthetic",
    "data.limit": 12800,
    "data.image_size": 32,
    "data.batch_size": 128,
    "data.slices": 8,
    "parallel.strategy": "ddp",
    "train.epochs": 100000,
    "train.max_steps": 10**9,
    "train.evaluate_every": 0,
    "checkpoint.every": "50 steps",
    "checkpoint.keep": 1,
}
COMMON = {
    "run.name": "job",
    "devices.kind": "cpu",
    "devices.count": 1,
    "devices.threads_per_worker": 1,
    "metrics.listen": "off",
    "cluster.nodes.min": 2,
    "cluster.insecure": "true",
}
LOSS = """
table inet loss {
  chain in {
    type filter hook input priority filter;
    numgen random mod 100 < 5 counter drop
  }
}
"""


class HostsJob(NetworkHosts):
    """Host 1 leads at first. `settings`: added to the common settings. `config`: trained instead of a ResNet-20. `shares_folder`: all use the
    folder of host 1, and any may lead. `cores`: limits of processor use, by host (cpu_quota.py). `joins`: false makes each daemon a job of
    its own."""

    def __init__(self, build, folder, hosts, rate="1gbit", settings=None, config=None, shares_folder=False, cores=None, joins=True):
        super().__init__(hosts, rate)
        self.program = build / "app/troupe"
        self.folder = pathlib.Path(folder)
        self.settings = (settings or {}) if config else RESNET | (settings or {})
        self.config = config or ROOT / "configs/debug.yaml"
        self.shares_folder = shares_folder
        self.joins = joins
        self.nodes = {}
        self.quotas = {host: CpuQuota(f"{self.prefix}-{host}", part) for host, part in (cores or {}).items()}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for node in self.nodes.values():
            node.kill()
            node.wait()
        self.remove()
        for quota in self.quotas.values():
            quota.remove()

    def start(self, host):
        own = {
            **COMMON,
            "cluster.nodes.max": self.hosts,
            "cluster.listen": self.address(host),
            "run.output": self.folder / ("1" if self.shares_folder else str(host)),
            **self.settings,
        }
        words = [self.program, "node", self.config, "--quiet"]
        for key, value in own.items():
            words += ["--set", f"{key}={value}"]
        others = range(1, self.hosts + 1) if self.shares_folder else {1} - {host}
        for other in others if self.joins else ():
            words += ["--join", self.address(other)]
        log = open(self.folder / f"log{host}", "a", encoding="utf-8")
        held = self.quotas[host].take_part if host in self.quotas else None
        self.nodes[host] = subprocess.Popen(self.on(host, *words), stdout=log, stderr=log, preexec_fn=held)

    def start_all(self):
        """Returns when all train. Daemons that join late count as recoveries, too."""
        for host in range(1, self.hosts + 1):
            self.start(host)
        self.until(lambda: (lines := self.lines("recoveries.jsonl")) and lines[-1]["world_size"] == self.hosts)

    def until(self, condition, pause=0.02):
        end = time.time() + LIMIT
        while not condition():
            if time.time() > end or all(node.poll() is not None for node in self.nodes.values()):
                sys.exit(f"{pathlib.Path(sys.argv[0]).name}: the job does not go on: {(self.folder / 'log1').read_text()[-2000:]}")
            time.sleep(pause)

    def run(self):
        """The run's folder on host 1."""
        return self.folder / "1/job"

    def lines(self, name):
        return run_files.lines(self.run(), name)

    def recovery(self, number):
        """Waits for the given change of membership and its first step. Returns its line and the time of the line."""
        self.until(lambda: len(self.lines("recoveries.jsonl")) >= number, pause=0.005)
        line = self.lines("recoveries.jsonl")[number - 1]
        return line, datetime.datetime.fromisoformat(line["time"].replace("Z", "+00:00")).timestamp()

    def wait_for_steps(self, count):
        first = run_files.steps(self.run())
        self.until(lambda: run_files.steps(self.run()) >= first + count)

    def leader(self):
        """The leader's host, as reported by any daemon; None: no daemon answers."""
        for host in self.nodes:
            words = [self.program, "status", self.address(host), "--json", "--timeout", "1s"]
            asked = subprocess.run(words, capture_output=True, text=True, check=False)
            nodes = json.loads(asked.stdout)["nodes"] if asked.returncode == 0 else []
            if nodes:
                return next(other for other in self.nodes if self.address(other) == nodes[0]["address"])
        return None

    def lose_packets(self, host):
        """Drops 5 of 100 incoming packets."""
        subprocess.run(self.on(host, "nft", "-f", "-"), input=LOSS, text=True, check=True)

    def lose_no_packets(self, host):
        subprocess.run(self.on(host, "nft", "delete", "table", "inet", "loss"), check=True)

    def link(self, host, state):
        subprocess.run(["ip", "link", "set", f"{self.prefix}-{host}-v", state], check=True)
