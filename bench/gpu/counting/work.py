"""What is counted: each piece of work with the bytes it moves, what it computes, and its launches."""

from dataclasses import dataclass


@dataclass
class Work:
    kind: str
    what: str = ""  # the tensor that it writes, or where the kernel comes from
    unit: str = ""
    read: float = 0
    written: float = 0
    operations: float = 0
    launches: int = 0
    narrow: bool = True  # products of 16 bits

    @property
    def moved(self):
        return self.read + self.written


@dataclass
class Rates:
    """Of a device."""

    name: str
    bytes_per_second: float
    narrow_operations: float  # a second
    wide_operations: float
    launch_seconds: float

    def seconds(self, work):
        """The least time for it, as gpu/device_rates has it (Williams et al. 2009)."""
        operations = self.narrow_operations if work.narrow else self.wide_operations
        return work.launches * self.launch_seconds + max(
            work.moved / self.bytes_per_second, work.operations / operations
        )


def by_kind(works, rates):
    """A line a kind, in the order of the first of each: how many, their sums, and their least seconds."""
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
