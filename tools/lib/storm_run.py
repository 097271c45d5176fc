"""Runs one scenario: faults, then healing of a part of the daemons, which must continue."""
import dataclasses
import heapq
import itertools
import random
import subprocess
import time

import storm_second_phase
from storm_bounds import Bounds
from storm_faults import KINDS
from storm_links import Links

PAUSE = 0.05  # seconds between looks at the daemons
SAMPLE = 0.2  # seconds between looks at the files
BEFORE = 20  # steps before the first fault
JOINING = 4  # seconds from a daemon's start until it has an assignment or waits as a spare
SETTLE = 60  # seconds that the start of the job may take


class Trouble(Exception):
    """The job did not begin."""


@dataclasses.dataclass
class Happened:
    """An injected fault."""

    at: float
    kind: str
    hosts: tuple
    end: float
    how: str
    step: int

    def told(self, begin):
        where = ", ".join(map(str, self.hosts)) or "nobody"
        return f"{self.at - begin:6.1f} s  {self.kind:22} host {where}" + (f" ({self.how})" if self.how else "") + f", step {self.step}"


class Storm:
    def __init__(self, job, scenario):
        self.job = job
        self.scenario = scenario
        self.links = Links(job.net)
        self.random = random.Random(f"storm {scenario.seed} runs")
        self.queue = []  # (time, number, action)
        self.numbers = itertools.count()
        self.timeline = []
        self.progress = []  # (time, steps) of each sample
        self.longest_pause = 0.0  # of this process: shows how busy the machine is
        self.asked = []  # processes of `troupe` commands
        self.bounds = Bounds(start=1.0)
        self.broken = ()
        self.began = time.monotonic()
        self.clock = time.time() - self.began  # wall clock of this machine = monotonic time + clock

    # Used by faults.

    def note(self, fault, hosts, seconds, how=""):
        now = time.monotonic()
        self.timeline.append(Happened(now, fault.kind, tuple(hosts), now + seconds, how, max(self.job.steps())))

    def later(self, seconds, act):
        heapq.heappush(self.queue, (time.monotonic() + seconds, next(self.numbers), act))

    def shuffled(self, draw, hosts):
        hosts = sorted(hosts)
        random.Random(draw).shuffle(hosts)
        return hosts

    def some(self, draw, count):
        """Some daemons of the job that run and are not frozen."""
        return self.shuffled(draw, [host for host in self.scenario.members() if self.job.daemons[host].acts()])[:count]

    def rank(self, draw):
        return int(draw * max(1, len(self.job.members())))

    def ranks(self, *ranks):
        members = self.job.members()
        return sorted({members[rank % len(members)] for rank in ranks}) if members else []

    def spared(self, draw, leads, spares=True):
        """A daemon that can leave without ending the job; none if too few other members and spares remain."""
        daemons = self.job.daemons
        newest = max(daemon.generation for daemon in daemons.values())
        reached = [host for host in self.scenario.members() if daemons[host].acts() and not self.is_cut_off(host)]
        training = [host for host in reached if daemons[host].votes == newest]  # judged by the running process
        if len(training) < 2 or len(training) + spares * self.waiting(reached, training) <= self.scenario.fewest():
            return []
        if leads:
            return [host for host in self.ranks(0) if host in training]
        return self.shuffled(draw, [host for host in reached if self.scenario.role(host) != "witness"])[:1]

    def waiting(self, reached, training):
        """How many daemons wait as spares, which takes some seconds from a daemon's start."""
        now = time.monotonic()
        others = [host for host in reached if host not in training and self.scenario.role(host) != "witness"]
        return sum(now - self.job.daemons[host].began > JOINING for host in others)

    def is_cut_off(self, host):
        """Whether a fault of its links may separate it from the others, until they have built the next generation."""
        now = time.monotonic()
        recent = [happened for happened in self.timeline if host in happened.hosts and now < happened.end + self.bounds.change()]
        return any(KINDS[happened.kind].cuts_off or not KINDS[happened.kind].blames for happened in recent)

    def ask_in_background(self, host, *words):
        command = self.job.net.on(host, self.job.program, words[0], self.job.net.address(host), *words[1:], *self.job.credentials())
        self.asked.append(subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))

    # The loop.

    def look(self):
        """Runs due actions, reads the logs, and restarts daemons that have ended."""
        now = time.monotonic()
        while self.queue and self.queue[0][0] <= now:
            heapq.heappop(self.queue)[2]()
        self.job.look()
        if not self.progress or now - self.progress[-1][0] >= SAMPLE:
            steps = self.job.steps()
            self.progress.append((now, steps))
        before = time.monotonic()
        time.sleep(PAUSE)
        self.longest_pause = max(self.longest_pause, time.monotonic() - before - PAUSE)

    def until(self, condition, seconds):
        """Waits up to `seconds`. Returns whether the condition came true."""
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                return False
            self.look()
        return True

    def top(self):
        return max(self.job.steps())

    def begin(self):
        for host in self.scenario.members():
            self.job.start(host)
        self.until(lambda: all(self.job.daemons[host].listens for host in self.scenario.members()), SETTLE)
        self.bounds = Bounds(start=max(1.0, time.monotonic() - self.began))
        if not self.until(lambda: len(self.job.members()) == self.scenario.nodes and self.top() >= BEFORE, SETTLE):
            raise Trouble(f"the job has not begun with {self.scenario.nodes} nodes within {SETTLE} s")

    def chaos(self, strike):
        begin = time.monotonic()
        for fault in self.scenario.faults:
            self.later(fault.at, lambda fault=fault: strike(self, fault))
        self.until(lambda: time.monotonic() > begin + self.scenario.faults[-1].at and not self.queue, 120)

    def run(self, strike):
        self.begin()
        self.chaos(strike)
        self.healed_at = time.monotonic()
        storm_second_phase.break_some(self)
        return storm_second_phase.converge(self)
