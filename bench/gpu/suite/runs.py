"""The two runs that a machine is asked for: the question of each, its parts, and their time."""

import time
from dataclasses import dataclass

from suite.rows import AMP, GPT2


@dataclass(frozen=True)
class Share:
    """Seconds of a part."""

    most: int
    least: int = 0  # are left for it, whatever the parts before it take


@dataclass(frozen=True)
class Run:
    question: str
    parts: dict  # {part: Share}, in their order
    total: int  # seconds of all parts, without what ending the last program may take
    rows: str = ""  # of step: a regular expression on names, unless --only gives another
    rounds: int = 3  # of a row of step
    least_row: int = 0  # seconds that are left for each later row of step without a compiler, which come first


FIRST = {
    "doctor": Share(30, 15),
    "kernels": Share(60, 30),
    "engines": Share(50, 20),
    "host_waits": Share(25, 10),
    "resnet18": Share(40, 20),
    "resnet50": Share(120, 70),
    "gpt2": Share(50, 25),
}
SECOND = {
    "step": Share(300, 150),
    "trace": Share(80, 40),
    "collectives": Share(60, 30),
    "sanitizer": Share(300, 110),
}

RUNS = {
    "first": Run("does it start, are its values right, and which plans does the device take?", FIRST, total=250),
    "second": Run(
        "how fast is a step beside PyTorch's, where does its time go, and what does compute-sanitizer find?",
        SECOND,
        total=510,
        rows=f"^({AMP.name}|{GPT2.name})$",
        rounds=2,
        least_row=60,
    ),
}

# Parts by name; without any, the default ones.
MOST = {"doctor": 40, "kernels": 120, "engines": 120, "host_waits": 60}
MOST.update({"resnet18": 120, "resnet50": 300, "gpt2": 120})
MOST.update({"tests": 560, "collectives": 180, "sanitizer": 560, "step": 280, "epochs": 150})
MOST.update({"compare": 400, "trace": 90})
DEFAULT = ("doctor", "step", "epochs", "trace")


def named(parts):
    """In at most ten minutes."""
    shares = {part: Share(most) for part, most in MOST.items() if part in (parts or DEFAULT)}
    return Run("the named parts" if parts else "the default parts", shares, total=570)


class Budget:
    """The deadline of each part. Time that a part leaves, or that of a skipped part, goes to later parts."""

    def __init__(self, options, deadline, skipped):
        self.deadline = deadline
        self.limits = options.limits
        scale = min(1, options.total / options.run.total)
        shares = options.run.parts.items()
        self.least = {name: 0 if name in skipped else scale * share.least for name, share in shares}
        self.spare = sum(self.limits[name] for name in skipped)

    def limit(self, name):
        names = list(self.least)
        kept = sum(self.least[later] for later in names[names.index(name) + 1 :])
        return min(self.deadline - kept, time.monotonic() + self.limits[name] + self.spare)

    def ended(self, name, seconds):
        self.spare = max(0, self.spare + self.limits[name] - seconds)
