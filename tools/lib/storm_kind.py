"""What one kind of fault is."""
import dataclasses
import typing


@dataclasses.dataclass(frozen=True)
class Kind:
    what: str
    strike: typing.Callable  # (storm, fault): does it, and has the storm undo it later
    seconds: tuple = (0, 0)  # it lasts, at least and at most
    halts: bool = True  # the job may halt for it
    drawn: bool = True  # it is among the kinds that are drawn if none are named
    blames: bool = True  # a loss that follows has to name a host that it hit; else either side of a link may be blamed


@dataclasses.dataclass(frozen=True)
class Fault:
    kind: str
    at: float  # seconds since the storm began
    seconds: float
    picks: tuple  # draws in [0, 1): whom it hits, and how
