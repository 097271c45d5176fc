"""The daemons of a storm, each on its own emulated host, with its log, its exits and its restarts."""
import dataclasses
import json
import os
import pathlib
import re
import signal
import subprocess
import time

import run_files
import storm_bounds
import storm_tables
from network_hosts import PORT, NetworkHosts
from storm_bounds import TIMEOUTS
from storm_links import DATA_PORT

RATE = "8mbit"  # limits steps by links instead of by processors, which all hosts share
DISK = 64 << 20  # bytes of a run folder's disk
GENERATION = re.compile(r"generation (\d+) starts at step (\d+): this is node (\d+) of (\d+)")
ALONE = re.compile(r"job: .* with [12] workers?,")
NO_RESTART = (0, 2)  # exit codes (docs/exit-codes.md)


@dataclasses.dataclass
class End:
    at: float
    code: int
    asked: str  # how the storm ended the process: "killed", "drained", "stopped"; "": it ended by itself


class Daemon:
    """The daemon of one host, through all of its restarts."""

    def __init__(self, host, role, log):
        self.host = host
        self.role = role
        self.log = log
        self.process = None
        self.began = 0.0
        self.read_to = 0  # bytes of the log already read
        self.generation = self.rank = self.world = 0  # of the last generation with any of its processes
        self.led = []  # the generations that it led
        self.votes = 0  # the last generation in which the running process has a vote
        self.listens = False
        self.frozen = False
        self.asked = ""
        self.kept = False  # restart after exit codes other than NO_RESTART
        self.pause = None  # seconds from the end of this process to its next start, for any exit code; None: restart only after codes that are restarted
        self.garbles = None  # seed of the changes to its messages
        self.joins = None  # cluster.join of the next process; None: all
        self.starts_at = None
        self.ends = []

    def runs(self):
        return self.process is not None and self.process.poll() is None

    def acts(self):
        return self.runs() and not self.frozen

    def is_dead(self):
        """Also true for a process that was just killed."""
        return not self.runs() or self.asked == "killed"

    def signal(self, number):
        if self.runs():
            self.process.send_signal(number)
            self.frozen = number == signal.SIGSTOP or (self.frozen and number != signal.SIGCONT)

    def end(self, asked, pause=None):
        """Ends the process by a signal: SIGKILL if `asked` is "killed", else SIGTERM. It is started again after the pause."""
        if self.runs():
            self.asked, self.pause = asked, pause
            self.signal(signal.SIGKILL if asked == "killed" else signal.SIGTERM)

    def read(self):
        """Reads the log lines that are new since the last call."""
        with open(self.log, "rb") as log:
            log.seek(self.read_to)
            text = log.read()
        text = text[: text.rfind(b"\n") + 1]
        self.read_to += len(text)
        for line in text.decode(errors="replace").splitlines():
            self.listens = self.listens or "daemon at " in line
            if found := GENERATION.search(line):
                self.generation, _, self.rank, self.world = map(int, found.groups())
                self.votes = self.generation
                self.led += [self.generation] if self.rank == 1 else []
            elif ALONE.match(line) and not self.votes:  # a single-node job does not print its first generation
                self.generation = self.votes = self.generation + 1
                self.led.append(self.generation)
                self.rank = self.world = 1


@dataclasses.dataclass(frozen=True)
class Libraries:
    """Libraries that daemons preload; None: not needed, or could not be built."""

    clock: pathlib.Path = None  # shifts clocks
    bytes: pathlib.Path = None  # changes messages


class StormJob:
    def __init__(self, program, scenario, tables, folder, prefix, libraries):
        self.program = program
        self.scenario = scenario
        self.tables = tables
        self.folder = folder
        self.libraries = libraries
        self.net = NetworkHosts(scenario.hosts(), RATE, prefix)
        self.disks = []
        self.daemons = {}
        self.offsets = {}
        for host in range(1, scenario.hosts() + 1):
            (folder / f"log{host}").touch()
            self.daemons[host] = Daemon(host, scenario.role(host), folder / f"log{host}")
            self.mount(self.output(host))
            self.set_clock(host, 0)

    def mount(self, output):
        if output not in self.disks:
            output.mkdir()
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK}", "storm", output], check=True)
            self.disks.append(output)

    def close(self, keep):
        """Ends all processes. `keep`: copies run folders from their disks."""
        self.net.remove()
        for daemon in self.daemons.values():
            if daemon.process:
                daemon.process.wait()
        for disk in self.disks:
            if keep:
                subprocess.run(["cp", "-a", disk, f"{disk}-kept"], check=True)
            subprocess.run(["umount", "--lazy", disk], check=True)
            disk.rmdir()
            if keep:
                pathlib.Path(f"{disk}-kept").rename(disk)

    def output(self, host):
        """The host's run.output, on a disk that can be filled."""
        shares = self.scenario.shared and self.scenario.role(host) != "stranger"
        return self.folder / ("shared" if shares else f"output{host}")

    def run(self, host):
        return self.output(host) / "job"

    def runs(self):
        return sorted({self.run(host) for host in self.scenario.members()})

    def settings(self, host):
        own = {
            "cluster.listen": self.net.address(host),
            "cluster.listen.data_port": DATA_PORT,
            "cluster.nodes.min": self.scenario.fewest(),
            "devices.count": self.scenario.workers,
            "cluster.nodes.max": self.scenario.nodes + self.scenario.room,
            "parallel.strategy": self.scenario.strategy,
            "run.output": self.output(host),
            "data.root": self.tables / "good",
            **{f"cluster.timeouts.{name}": f"{round(1000 * seconds)}ms" for name, seconds in TIMEOUTS.items()},
        }
        return own | (storm_tables.tls(self.tables, host) if self.scenario.tls else {"cluster.insecure": "true"})

    def start(self, host, more=None):
        """Starts the daemon. `more`: added to the common settings, also when it is started again."""
        daemon = self.daemons[host]
        daemon.more = more or {}
        words = [self.program, "node", self.tables / "job.yaml"]
        for key, value in (self.settings(host) | daemon.more).items():
            words += ["--set", f"{key}={value}"]
        if daemon.role == "witness":
            words.append("--witness")
        known = [self.net.address(other) for other in self.scenario.members() if self.scenario.role(other) != "witness"]
        for address in daemon.joins or known:
            words += ["--join", address]
        with open(daemon.log, "a", encoding="utf-8") as log:
            daemon.process = subprocess.Popen(
                self.net.on(host, *words), stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=self.environment(host)
            )
        daemon.began, daemon.votes, daemon.listens, daemon.frozen = time.monotonic(), 0, False, False
        daemon.asked, daemon.starts_at, daemon.pause, daemon.joins, daemon.kept = "", None, None, None, True

    def environment(self, host):
        clean = {key: value for key, value in os.environ.items() if not key.startswith("TROUPE_")}
        own = {"OMP_NUM_THREADS": "1"}
        if self.daemons[host].garbles is not None:
            own |= {"LD_PRELOAD": self.libraries.bytes, "STORM_BYTES": self.folder / f"bytes{host}", "STORM_PORT": PORT}
            own |= {"STORM_TLS": int(self.scenario.tls), "STORM_SEED": self.daemons[host].garbles}
        elif self.libraries.clock:
            own |= {"LD_PRELOAD": self.libraries.clock, "STORM_CLOCK": self.clock(host)}
        return clean | {key: str(value) for key, value in own.items()}

    def garble(self, host, is_on):
        """Sets whether its messages are corrupted, from now on."""
        file = self.folder / f"bytes{host}"
        with open(file, "r+b" if file.exists() else "w+b") as flag:
            flag.write(bytes([is_on]))

    def clock(self, host):
        return self.folder / f"clock{host}"

    def set_clock(self, host, seconds):
        """Sets the offset of a host's clock from the others'; its daemon sees it at once."""
        with open(self.clock(host), "r+b" if self.clock(host).exists() else "w+b") as file:
            file.write(int(seconds * 10**9).to_bytes(8, "little", signed=True))
        self.offsets[host] = seconds

    def look(self):
        """Reads logs, and restarts daemons that ended with other codes than 0 and 2, after a pause."""
        now = time.monotonic()
        for daemon in self.daemons.values():
            daemon.read()
            if daemon.process and daemon.process.poll() is not None and (not daemon.ends or daemon.ends[-1].at < daemon.began):
                daemon.ends.append(End(now, daemon.process.returncode, daemon.asked))
                if daemon.kept and (daemon.pause is not None or daemon.process.returncode not in NO_RESTART):
                    daemon.starts_at = now + (storm_bounds.RESTART if daemon.pause is None else daemon.pause)
            if daemon.starts_at and now >= daemon.starts_at and not daemon.runs():
                self.start(daemon.host, daemon.more)

    def members(self, among=None):
        """Hosts of the newest generation in any log, the leader first."""
        known = [self.daemons[host] for host in among or self.scenario.members()]
        newest = max(daemon.generation for daemon in known)
        return [daemon.host for daemon in sorted(known, key=lambda daemon: daemon.rank) if daemon.generation == newest > 0]

    def leader(self, among=None):
        members = self.members(among)
        return members[0] if members and self.daemons[members[0]].rank == 1 else None

    def steps(self):
        """The number of steps of each run: any change is progress."""
        return tuple(run_files.steps(run) for run in self.runs())

    def credentials(self):
        return storm_tables.credentials(self.tables) if self.scenario.tls else []

    def ask(self, host, *words, limit=20):
        """Runs `troupe WORDS` on the daemon's own host, where no link is cut."""
        command = self.net.on(host, self.program, words[0], self.net.address(host), *words[1:], *self.credentials())
        return subprocess.run(command, capture_output=True, text=True, timeout=limit, check=False)

    def status(self, host, timeout="1s"):
        asked = self.ask(host, "status", "--json", "--timeout", timeout)
        return json.loads(asked.stdout) if asked.returncode == 0 else None
