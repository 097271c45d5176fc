"""Types of the kinds of faults, and of a fault."""
import dataclasses
import typing


@dataclasses.dataclass(frozen=True)
class Kind:
    what: str
    strike: typing.Callable  # (storm, fault): injects the fault, and schedules its end
    seconds: tuple = (0, 0)  # shortest and longest duration
    halts: bool = True  # the job may halt for it
    drawn: bool = True  # drawn if --faults names none
    cuts_off: bool = False  # a leader that it hits declares all others lost
    blames: bool = True  # a following loss must name a host that it hit; else either side of a link may be blamed


@dataclasses.dataclass(frozen=True)
class Fault:
    kind: str
    at: float  # seconds since the storm began
    seconds: float
    picks: tuple  # draws in [0, 1): choose hosts and details
