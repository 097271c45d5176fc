"""How long a storm's daemons may take, computed from cluster.timeouts."""
import dataclasses

TIMEOUTS = {  # seconds
    "heartbeat": 0.1,
    "detection": 0.8,
    "admission": 0.8,
    "handshake": 2,
    "form": 4,
    "collective": 5,
    "quorum": 20,
    "drain": 10,
}
RESTART = 1.0  # seconds from a daemon's end to its next start
MOST_BUSY = 4  # how many times longer a loaded machine may make everything that is not a time-out


@dataclasses.dataclass(frozen=True)
class Bounds:
    start: float  # seconds from a daemon's start until it listens, as this machine needs

    def work(self):
        """To start, to read, to connect and to make steps: no time-out limits these."""
        return MOST_BUSY * (self.start + 1)

    def change(self):
        """From a loss to the first step without the node: it is noticed by its silence, or by a collective that fails, and those that were
        to come together without it may lose one more that does not come."""
        return TIMEOUTS["detection"] + TIMEOUTS["collective"] + 2 * TIMEOUTS["form"] + self.work()

    def converge(self):
        """From healing to steps: a daemon that has just begun to wait in vain ends after `quorum`, is started again, and joins."""
        return TIMEOUTS["quorum"] + RESTART + TIMEOUTS["admission"] + self.work() + self.change()

    def end(self):
        """From `troupe stop` to the last exit."""
        return TIMEOUTS["drain"] + TIMEOUTS["detection"] + self.work()

    def calm(self):
        """The longest halt where nothing that happens may cause one."""
        return self.work() / 2
