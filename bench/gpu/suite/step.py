"""The part `step`: our training step and PyTorch's take turns; medians of the rounds."""

import statistics
import time

from suite import programs, start
from suite.programs import OutOfTime, Trouble
from suite.rows import EAGER, INSTEAD, SITTINGS

WHAT = "the training step on random data, ours and PyTorch's in turns: rounds, medians"
NEEDS = ("PyTorch",)
OURS = "ours"
FIRST_LIMIT = 300.0  # the first start on a device measures plans; later ones find them on disk
OURS_LIMIT = 120.0
PEER_LIMIT = 60.0
FIRST_PEER_LIMIT = 120.0  # PyTorch's first import may come from a cold disk
LEAST = 30.0  # no sitting is begun with less


def summary(runs, rate):
    """The figures of a row from its rounds, {name: [result of a round, ...]}."""
    speed = {name: median(results, rate) for name, results in runs.items() if results}
    found = {}
    for name, results in runs.items():
        if results:
            found[name] = {
                rate: speed[name],
                "ms": median(results, "ms"),
                "peak_memory_mib": largest(results, "peak_memory_mib"),
                "rounds": len(results),
            }
    peers = {name: value for name, value in speed.items() if name != OURS}
    if OURS not in speed:
        return found
    found.update({"cpu_us_per_step": median(runs[OURS], "cpu_us_per_step"), rate: speed[OURS]})
    for name, value in peers.items():
        found[f"ratio_{name}"] = speed[OURS] / value
    if peers:
        found["best_peer"] = max(peers, key=peers.get)
        found["ratio_best"] = speed[OURS] / max(peers.values())
    memory = [found.get(name, {}).get("peak_memory_mib") for name in (OURS, "eager")]
    if all(memory):
        found["memory_ratio"] = memory[0] / memory[1]
    return found


def median(results, key):
    values = [result[key] for result in results if result.get(key) is not None]
    return statistics.median(values) if values else None


def largest(results, key):
    values = [result[key] for result in results if result.get(key) is not None]
    return max(values) if values else None


def sittings(suite):
    """In their order; those with a compiler last where time is shared among rows."""
    chosen = [sitting for sitting in SITTINGS if suite.wanted(sitting[0].name)]
    return sorted(chosen, key=lambda it: it[1] != EAGER) if suite.run.least_row else chosen


def kept(suite, later):
    """Seconds for the rows behind this one."""
    return suite.run.least_row * sum(variants == EAGER for _, variants in later)


def plan(suite):
    for case, variants in sittings(suite):
        yield f"# {case.name}: {suite.options.rounds} rounds of ours, {', '.join(variants)}"
        yield suite.our_step(case, suite.options.seconds)
        peer = suite.peer_step(case, suite.options.seconds)
        yield from ([*peer, "--variant", variant, "--serve"] for variant in variants)


def run_part(suite, log, deadline):
    chosen = sittings(suite)
    for i, (case, variants) in enumerate(chosen):
        row = suite.report.row("step", case.name)
        row["rate"] = case.rate
        if deadline - time.monotonic() < LEAST:
            for later, names in chosen[i:]:
                left = suite.report.row("step", later.name).setdefault("left_out", {})
                left.update({name: "no time left" for name in names})
            break
        suite.say(f"step: {case.name}, {', '.join(variants)}")
        Sitting(suite, log, case, row).hold(variants, deadline - kept(suite, chosen[i + 1 :]))
    rows = suite.report.rows("step")
    failed = [name for name, row in rows.items() if row.get("failed") or row.get("timed_out")]
    if failed:
        raise Trouble(f"rows that failed: {', '.join(failed)}")


class Sitting:
    def __init__(self, suite, log, case, row):
        self.suite, self.log, self.case, self.row = suite, log, case, row
        self.peer = suite.peer_step(case, suite.options.seconds)

    def hold(self, variants, deadline):
        """Peers stay up between rounds: what they prepare once (imports, compiling) is no part of a round."""
        peers = {}
        try:
            self.prepare_ours(deadline)
            for variant in variants:
                if not self.prepare(variant, peers, deadline) and variant in INSTEAD:
                    self.prepare(INSTEAD[variant], peers, deadline)
            if not peers and self.row.get("runs"):
                return  # nobody to take turns with, and our figures are there
            for _ in range(self.suite.options.rounds):
                self.round(peers, deadline)
        finally:
            for peer in peers.values():
                peer.end()

    def prepare_ours(self, deadline):
        """A start that no figure is taken of, before there are peers that would wait for it: it searches plans.
        One that is cut has left on disk what it had found, for the next.
        """
        has_plans = self.suite.took_plans or start.has_started(self.suite, self.case)
        if not has_plans and OURS not in self.row.get("failed", {}) and "first_start_s" not in self.row:
            begin = time.monotonic()
            self.attempt(OURS, deadline, FIRST_LIMIT, lambda until: self.run_ours(until, 0))
            self.row["first_start_s"] = round(time.monotonic() - begin, 1)

    def prepare(self, variant, peers, deadline):
        peer = self.attempt(variant, deadline, self.start_limit(variant), lambda until: self.start(variant, until))
        if peer:
            peers[variant] = peer
        return peer is not None

    def start_limit(self, variant):
        if variant not in EAGER:
            return self.suite.options.compile_limit
        return PEER_LIMIT if self.suite.peer_has_started else FIRST_PEER_LIMIT

    def start(self, variant, until):
        program = programs.Program([*self.peer, "--variant", variant, "--serve"], self.log)
        try:
            program.object(until)  # says that it is ready
            self.suite.peer_has_started = True
        except BaseException:
            program.end()
            raise
        return program

    def round(self, peers, deadline):
        if OURS not in self.row.get("failed", {}):
            self.keep(OURS, self.attempt(OURS, deadline, OURS_LIMIT, self.measure_ours))
        for variant, peer in list(peers.items()):
            result = self.attempt(variant, deadline, PEER_LIMIT, lambda until, p=peer: self.ask(p, until))
            self.keep(variant, result)
            if not result:
                peers.pop(variant).end()

    def measure_ours(self, until):
        return self.run_ours(until, self.suite.options.seconds)

    def run_ours(self, until, seconds):
        begin = time.monotonic()
        command = self.suite.our_step(self.case, seconds)
        result = programs.run_for_object(command, until - begin, self.log)
        return {**result, "wall_s": round(time.monotonic() - begin, 2)}

    @staticmethod
    def ask(peer, until):
        peer.say("measure")
        return peer.object(until)

    def keep(self, name, result):
        if result:
            runs = self.row.setdefault("runs", {})
            runs.setdefault(name, []).append(result)
            self.row.get("timed_out", {}).pop(name, None)
            self.row["summary"] = summary(runs, self.case.rate)
            self.suite.report.save()

    def attempt(self, name, deadline, limit, action):
        """What action(until) returns, or None: failed by itself, or left out for want of time."""
        now = time.monotonic()
        until = min(deadline, now + limit)
        if deadline - now < 1:
            self.row.setdefault("left_out", {})[name] = "no time left"
            return None
        try:
            return action(until)
        except OutOfTime:
            own = until < deadline  # its own limit, not the part's end
            kind = "left_out" if not own else "timed_out" if name == OURS else "failed"
            self.row.setdefault(kind, {})[name] = f"no result within {until - now:.0f} s"
        except Trouble as trouble:
            self.row.setdefault("failed", {})[name] = str(trouble)
        self.suite.report.save()
        return None
