"""The runs that a machine is asked for, one after another: what each asks, in which parts, in how much time."""

import time
from dataclasses import dataclass

from suite.rows import AMP, PRECISIONS


@dataclass(frozen=True)
class Share:
    """Seconds of a part."""

    most: int
    least: int = 0  # are left for it, whatever the parts before it take


@dataclass(frozen=True)
class Run:
    question: str
    parts: dict  # {part: Share}, in their order
    total: int = 515  # seconds of all parts: nine minutes with what ending a program may take
    rows: str = ""  # of step: a regular expression on names, unless --only says another
    rounds: int = 3  # of a row of step
    least_row: int = 0  # seconds that are left for each later row of step without a compiler, which come first
    looks_first: bool = True  # asks doctor before the parts; otherwise only in the part of that name


RUNS = {
    "first": Run(
        "does it start, which plans does the device take, and how fast is the AMP step beside PyTorch's?",
        {"start": Share(300), "doctor": Share(90, 40), "step": Share(360, 130), "trace": Share(120, 70)},
        rows=f"^{AMP.name}$",
        looks_first=False,
    ),
    "second": Run(
        "is everything right: the tests, and compute-sanitizer over those of our kernels?",
        {"tests": Share(400), "sanitizer": Share(500, 180)},
    ),
    "third": Run(
        "how fast is the step in every precision, beside PyTorch's?",
        {"step": Share(515)},
        rows=f"^({'|'.join(case.name for case in PRECISIONS)})$",
        rounds=2,
        least_row=45,
    ),
    "fourth": Run(
        "how long does a training take, from CIFAR-10's files to the accuracy, beside PyTorch's?",
        {"epochs": Share(515)},
    ),
    "fifth": Run(
        "what does each strategy and precision give: the reference comparison's table on one GPU?",
        {"compare": Share(515)},
    ),
}

# Parts that are named, or without any the usual ones.
MOST = {"start": 300, "doctor": 40, "tests": 560, "sanitizer": 560, "step": 280, "epochs": 150}
MOST.update({"compare": 400, "trace": 90})
USUAL = ("doctor", "step", "epochs", "trace")


def named(parts):
    """In at most ten minutes."""
    shares = {part: Share(most) for part, most in MOST.items() if part in (parts or USUAL)}
    return Run("the parts that were named" if parts else "the usual parts", shares, total=570)


class Budget:
    """Until when each part may run. What one leaves of its time, or a skipped one, goes to those behind it."""

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
