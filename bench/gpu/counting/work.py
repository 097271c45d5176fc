"""Counted work: the bytes that it moves, the operations that it computes, and its launches."""

from dataclasses import dataclass


@dataclass
class Work:
    kind: str
    what: str = ""  # the tensor that it writes, or the source of the kernel
    unit: str = ""
    read: float = 0
    written: float = 0
    operations: float = 0
    launches: int = 0
    operation_class: str = "narrow"  # gpu/traffic.hpp, OperationClass

    @property
    def moved(self):
        return self.read + self.written


@dataclass
class Rates:
    """Rates of a device that kernels reach."""

    name: str
    bytes_per_second: float
    operations_per_second: dict  # by class
    launch_seconds: float

    def seconds(self, work):
        """The least time for it, as gpu/device_rates estimates it (Williams et al. 2009)."""
        return work.launches * self.launch_seconds + max(
            work.moved / self.bytes_per_second,
            work.operations / self.operations_per_second[work.operation_class],
        )


def by_kind(works, rates):
    """A line for each kind, in the order of their first works: their number, sums and least seconds."""
    kinds = {}
    for work in works:
        line = kinds.setdefault(work.kind, {"kind": work.kind, "count": 0, **dict.fromkeys(SUMS, 0), "seconds": 0})
        line["count"] += 1
        line["seconds"] += rates.seconds(work)
        for name in SUMS:
            line[name] += getattr(work, name)
    return list(kinds.values())


SUMS = ("read", "written", "operations", "launches")


def total(lines):
    return {name: sum(line[name] for line in lines) for name in ("count", *SUMS, "seconds")}
