"""Limits on the times of a storm's daemons, computed from cluster.timeouts."""
import dataclasses

TIMEOUTS = {  # seconds
    "heartbeat": 0.1,
    "detection": 0.8,
    "admission": 0.8,
    "handshake": 2,
    "rejoin": 4,
    "collective": 5,
    "quorum": 20,
    "drain": 10,
}
REFUSED = 60  # seconds until an unreachable data port is dialled again
RESTART = 1.0  # seconds from a daemon's end to its next start
MOST_BUSY = 4  # factor by which a loaded machine may slow down everything that is not a timeout


@dataclasses.dataclass(frozen=True)
class Bounds:
    start: float  # measured seconds from a daemon's start until it listens

    def work(self):
        """Seconds for starting, reading, connecting and making steps, which no timeout limits."""
        return MOST_BUSY * (self.start + 1)

    def change(self):
        """Seconds from a loss to the first step without the node: the others notice it by its silence or a failed collective, and may lose one
        more node while they build the next generation."""
        return TIMEOUTS["detection"] + TIMEOUTS["collective"] + 2 * TIMEOUTS["rejoin"] + self.work()

    def converge(self):
        """Seconds from healing to steps. The slowest case: a daemon has just begun to wait for a job, ends after `quorum`, is restarted, and
        joins."""
        return TIMEOUTS["quorum"] + RESTART + TIMEOUTS["admission"] + self.work() + self.change()

    def agree(self):
        """Seconds until all are members: an unreachable data port is dialled again after a minute (docs/cluster.md)."""
        return self.converge() + REFUSED

    def end(self):
        """Seconds from `troupe stop` to the last exit."""
        return TIMEOUTS["drain"] + TIMEOUTS["detection"] + self.work()

    def calm(self):
        """The longest halt if no fault may cause one."""
        return self.work() / 2
