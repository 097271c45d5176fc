"""A job of several daemons on this machine, small enough for hundreds of steps in seconds, and its files."""
import json
import pathlib
import re
import resource
import signal
import subprocess
import time

import run_files
import traps

LIMIT = 60  # limit of every wait, in seconds
NODES = 4
SLICES = 12
SAMPLES = 960
STEPS = 1600

COMMON = {
    "run.name": "job",
    "run.seed": 7,
    "data.batch_size": SLICES,
    "data.slices": SLICES,
    "data.eval_batch_size": SLICES,
    "data.prefetch": 2,
    "train.epochs": 1000,
    "train.max_steps": STEPS,
    "train.optimizer.momentum": 0.9,
    "train.schedule.name": "constant",
    "train.schedule.warmup": 0,
    "devices.kind": "cpu",
    "devices.count": 1,
    "devices.threads_per_worker": 1,
    "metrics.listen": "off",
    "checkpoint.every": "20 steps",
    "checkpoint.keep": 1,
    "cluster.timeouts.detection": "5s",
    "cluster.timeouts.admission": "0s",
    "cluster.timeouts.collective": "20s",
    "cluster.timeouts.quorum": "60s",
}
# Sample i is 1 in feature i, so only it moves weight i. No sum has two nonzero terms, so no result
# depends on the order of additions. Therefore each weight and its optimizer state show how often,
# and when, sample i was applied, for any distribution of the work.
SAMPLES_COUNT = {
    "data.dataset": "csv",
    "data.table.standardize": False,
    "data.table.targets": ["a", "b", "c"],  # more than 8 KiB of gradients, so that an all-reduce uses the ring
    "data.augment": [],
    "model.name": "linear",
    "model.bias": False,
    "model.num_classes": 3,
    "model.loss": "mean_squared_error",
    "train.optimizer.lr": 0.5,
    "train.optimizer.weight_decay": 0,
    "train.evaluate_every": 1,
}
BATCH_NORMS = {
    "data.dataset": "synthetic",
    "data.limit": SAMPLES,
    "data.image_size": 8,
    "data.batch_size": 2 * SLICES,
    "data.augment": ["crop", "flip"],
    "model.name": "resnet20",
    "model.num_classes": 10,
    "model.in_channels": 3,
    "model.stem": "cifar",
    "train.max_steps": STEPS // 8,
    "train.optimizer.weight_decay": 5e-4,
    "train.optimizer.lr": 0.05,
    "train.evaluate_every": 1,
}
# Parameters do not change, so the batch norms' statistics, which come from slice 0, equal those of
# an undisturbed run.
AT_REST = {"train.optimizer.lr": 1e-40, "train.optimizer.weight_decay": 0}
CHECKS = {"samples": SAMPLES_COUNT, "statistics": {**BATCH_NORMS, **AT_REST}, "state": BATCH_NORMS}
ADAM = {"train.optimizer.lr": 0.01, "train.optimizer.momentum": 0}


class Trouble(Exception):
    """A problem with the job: one line, possibly followed by a log."""


def until(condition, what, pause=0.01):
    end = time.monotonic() + LIMIT
    while not condition():
        if time.monotonic() > end:
            raise Trouble(f"{what}: not within {LIMIT} s")
        time.sleep(pause)


def without_core():
    """Prevents core dumps to a file or a program: the limit of one byte is too small for both."""
    resource.setrlimit(resource.RLIMIT_CORE, (1, 1))


def write_samples(folder):
    """Writes the tables; returns the names of the features."""
    names = [f"f{i}" for i in range(SAMPLES)]
    for file, count in ("train", SAMPLES), ("test", 4 * SLICES):
        rows = (",".join("1" if feature == i else "0" for feature in range(SAMPLES)) for i in range(count))
        lines = [",".join([*names, "a", "b", "c"]), *(f"{row},1,2,3" for row in rows)]
        (folder / f"{file}.csv").write_text("\n".join(lines) + "\n")
    return names


def write_config(folder, settings):
    """Writes the config as JSON, which is valid YAML."""
    sections = {}
    for key, value in settings.items():
        *path, last = key.split(".")
        section = sections
        for name in path:
            section = section.setdefault(name, {})
        section[last] = value
    (folder / "job.yaml").write_text(json.dumps(sections, indent=1))


class Daemon:
    def __init__(self, name, program, words, folder):
        self.name = name
        self.program = program
        self.log = folder / f"{name}.log"
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                [str(word) for word in words], stdin=subprocess.DEVNULL, stdout=log, stderr=log, preexec_fn=without_core
            )
        self.code = traps.Code(program, self.process.pid)

    def said(self):
        return self.log.read_text(errors="replace")

    def address(self):
        """The daemon's address; None until it is ready."""
        found = re.search(r"daemon at (\S+)\n", self.said())
        return found[1] if found else None

    def generation(self):
        """The last generation of which it was a member."""
        return max(map(int, re.findall(r"generation (\d+) starts at step", self.said())), default=0)

    def led(self):
        """The last generation that it led; 0: none."""
        return max(map(int, re.findall(r"generation (\d+) starts at step \d+: this is node 1 of", self.said())), default=0)

    def runs(self):
        return self.process.poll() is None

    def signal(self, number):
        self.process.send_signal(number)

    def fail(self, what):
        raise Trouble(f"{self.name} {what}:\n{self.said()[-1500:]}")

    def expect(self, code):
        try:
            ended = self.process.wait(LIMIT)
        except subprocess.TimeoutExpired:
            self.fail(f"does not end within {LIMIT} s")
        if ended != code:
            self.fail(f"has ended with {ended}, not with {code}")


def has_failed(daemons):
    return next((daemon for daemon in daemons if daemon.process.poll()), None)


class Job:
    """`daemons` are the first leader and the followers in the order of their ranks."""

    def __init__(self, program, folder, settings, nodes=NODES, shares_folder=False):
        self.program = program
        self.folder = pathlib.Path(folder)
        self.settings = settings
        self.nodes = nodes
        self.daemons = []
        self.others = []  # spares, and daemons that join during training
        self.shares_folder = shares_folder or settings.get("checkpoint.state") == "sharded"

    def __enter__(self):
        own = dict(self.settings)
        if own["data.dataset"] == "csv":
            own |= {"data.table.features": write_samples(self.folder), "data.root": str(self.folder)}
        write_config(self.folder, own)
        return self

    def __exit__(self, *_):
        for daemon in self.daemons + self.others:
            daemon.process.kill()
            daemon.process.wait()

    def start(self, name, *more):
        output = self.folder / ("leader" if self.shares_folder else name)
        own = ["--set", f"run.output={output}", "--set", "cluster.listen=127.0.0.1:0"]
        return Daemon(name, self.program, [self.program.path, "node", self.folder / "job.yaml", *own, *more], self.folder)

    def lead(self):
        leader = self.start("leader")
        self.daemons.append(leader)
        until(lambda: leader.address() or not leader.runs(), "the leader's start")
        if not leader.runs():
            leader.fail("has ended")

    def join(self, name):
        return self.start(name, "--join", self.daemons[0].address())

    def follow(self):
        """Adds a daemon, which gets the next rank."""
        daemon = self.join(f"follower-{len(self.daemons)}")
        self.daemons.append(daemon)
        until(lambda: not daemon.runs() or self.is_in(daemon), f"{daemon.name}'s coming")
        if not daemon.runs():
            daemon.fail("has ended")

    def is_in(self, daemon):
        return daemon.address() and ("generation " in daemon.said() or daemon.address() in self.daemons[0].said())

    def begin(self):
        self.lead()
        for _ in range(self.nodes - 1):
            self.follow()
        if self.nodes > 1:
            until(lambda: f"node {self.nodes} of {self.nodes}" in self.daemons[-1].said(), "the job's begin with all nodes")

    def add(self, name):
        """Adds a daemon without a rank."""
        daemon = self.join(name)
        self.others.append(daemon)
        return daemon

    def add_spare(self, number):
        spare = self.add(f"spare-{number}")
        until(lambda: "waiting as a spare" in spare.said(), "a spare's coming")

    def run(self):
        return self.folder / "leader/job"

    def lines(self, name):
        return run_files.lines(self.run(), name)

    def steps(self):
        return run_files.steps(self.run())

    def leader(self):
        """The running daemon that led the newest generation; the first daemon if none has led."""
        running = [daemon for daemon in self.daemons if daemon.runs()] or self.daemons
        return max(running, key=lambda daemon: daemon.led())

    def is_over(self):
        return (self.run() / "summary.json").exists() or not self.leader().runs()

    def reach(self, step):
        until(lambda: self.steps() >= step or self.is_over(), f"step {step}")
        if self.is_over():
            self.leader().fail(f"had no step {step}")

    def end(self, lost=()):
        """Waits for all steps; then the daemons that were not lost must end correctly."""
        left = [daemon for daemon in self.daemons + self.joined() if daemon not in lost]
        self.advance(left)
        for daemon in left:
            if daemon is self.daemons[0]:  # stays until it is asked to stop
                daemon.signal(signal.SIGTERM)
            daemon.expect(0)
        return json.loads((self.run() / "summary.json").read_text())

    def joined(self):
        return [daemon for daemon in self.others if daemon.name == "joiner"]

    def advance(self, others):
        """Waits without a limit, as long as steps are made."""
        while not self.is_over():
            steps = self.steps()
            time.sleep(0.05)
            until(lambda: self.steps() != steps or self.is_over() or has_failed(others), f"a step after {steps}")
            for daemon in filter(None, [has_failed(others)]):
                daemon.fail("has failed")
        until(lambda: (self.run() / "summary.json").exists(), "the summary")
