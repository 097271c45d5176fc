"""A job of several daemons that trains ResNet-20 until it is ended, each on a host of its own (tools/network-namespaces; needs root)."""
import datetime
import json
import os
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
NAMESPACES = ROOT / "tools/network-namespaces"
LIMIT = 120  # seconds that anything may take
COMMON = {
    "model.name": "resnet20",
    "data.dataset": "synthetic",
    "data.synthetic_samples": 12800,
    "data.image_size": 32,
    "data.batch_size": 128,
    "data.slices": 8,
    "train.epochs": 100000,
    "train.max_steps": 10**9,
    "train.evaluate_every": 0,
    "checkpoint.every": "50 steps",
    "checkpoint.keep": 1,
    "run.name": "job",
    "parallel.strategy": "ddp",
    "devices.kind": "cpu",
    "devices.count": 1,
    "devices.threads_per_worker": 1,
    "metrics.listen": "off",
    "cluster.min_nodes": 2,
    "cluster.insecure": "true",
}


class HostsJob:
    """Host 1 leads. `settings`: beside what makes the job one."""

    def __init__(self, build, folder, hosts, rate="1gbit", settings=None):
        self.program = build / "app/troupe"
        self.folder = pathlib.Path(folder)
        self.hosts = hosts
        self.settings = settings or {}
        self.prefix = f"re{os.getpid()}"
        up = subprocess.run([NAMESPACES, "up", self.prefix, str(hosts), rate], check=True, capture_output=True, text=True)
        self.network = up.stdout.strip()
        self.nodes = {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for node in self.nodes.values():
            node.kill()
            node.wait()
        subprocess.run([NAMESPACES, "down", self.prefix], check=True)

    def on(self, host, *words):
        """A command that runs there."""
        return ["ip", "netns", "exec", f"{self.prefix}-{host}", *map(str, words)]

    def start(self, host):
        own = {
            **COMMON,
            "cluster.max_nodes": self.hosts,
            "cluster.listen": f"{self.network}.{host}:7401",
            "run.output": self.folder / str(host),
            **self.settings,
        }
        words = [self.program, "node", ROOT / "configs/debug.yaml", "--quiet"]
        for key, value in own.items():
            words += ["--set", f"{key}={value}"]
        words += [] if host == 1 else ["--join", f"{self.network}.1:7401"]
        log = open(self.folder / f"log{host}", "a", encoding="utf-8")
        self.nodes[host] = subprocess.Popen(self.on(host, *words), stdout=log, stderr=log)

    def start_all(self):
        """Returns when all train; those that come late are recoveries, too."""
        for host in range(1, self.hosts + 1):
            self.start(host)
        self.until(lambda: (lines := self.lines("recoveries.jsonl")) and json.loads(lines[-1])["world_size"] == self.hosts)

    def until(self, condition, pause=0.02):
        end = time.time() + LIMIT
        while not condition():
            if time.time() > end or self.nodes[1].poll() is not None:
                sys.exit(f"{pathlib.Path(sys.argv[0]).name}: the job does not go on: {(self.folder / 'log1').read_text()[-2000:]}")
            time.sleep(pause)

    def lines(self, name):
        file = self.folder / "1/job" / name
        return file.read_text().splitlines() if file.exists() else []

    def recovery(self, number):
        """The numberth change of membership, once its first step is done: its line, and when that was written."""
        self.until(lambda: len(self.lines("recoveries.jsonl")) >= number, pause=0.005)
        line = json.loads(self.lines("recoveries.jsonl")[number - 1])
        return line, datetime.datetime.fromisoformat(line["time"].replace("Z", "+00:00")).timestamp()

    def wait_for_steps(self, count):
        first = len(self.lines("events.jsonl"))
        self.until(lambda: len(self.lines("events.jsonl")) >= first + count)

    def link(self, host, state):
        subprocess.run(["ip", "link", "set", f"{self.prefix}-{host}-v", state], check=True)
