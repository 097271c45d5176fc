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
REFUSED = 60  # seconds until a data port that could not be reached is dialled again
RESTART = 1.0  # seconds from a daemon's end to its next start
MOST_BUSY = 4  # how many times longer a loaded machine may make everything that is not a time-out


@dataclasses.dataclass(frozen=True)
class Bounds:
    start: float  # seconds from a daemon's start until it listens, as this machine needs

    def work(self):
        """For starting, reading, connecting and making steps, which no timeout limits."""
        return MOST_BUSY * (self.start + 1)

    def change(self):
        """From a loss to the first step without the node: the others notice it by its silence or a failed collective, and may lose one
        more node while they come together again."""
        return TIMEOUTS["detection"] + TIMEOUTS["collective"] + 2 * TIMEOUTS["form"] + self.work()

    def converge(self):
        """From healing to steps. The slowest case: a daemon has just begun to wait for a job, ends after `quorum`, is restarted, and joins."""
        return TIMEOUTS["quorum"] + RESTART + TIMEOUTS["admission"] + self.work() + self.change()

    def agree(self):
        """Until all have a place: a data port that could never be reached is dialled again after a minute (docs/cluster.md)."""
        return self.converge() + REFUSED

    def end(self):
        """From `troupe stop` to the last exit."""
        return TIMEOUTS["drain"] + TIMEOUTS["detection"] + self.work()

    def calm(self):
        """The longest halt if no fault may cause one."""
        return self.work() / 2
