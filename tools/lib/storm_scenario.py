"""The scenario of a storm: a job, and faults at certain times. A seed determines all of it."""
import dataclasses
import random

import storm_faults

# Numbers of nodes of each strategy, and whether its state is sharded, which requires a shared
# folder for checkpoints.
STRATEGIES = {
    "single": ((1,), False),
    "ddp": ((2, 3, 4), False),
    "zero1": ((2, 3, 4), True),
    "zero2": ((2, 3, 4), True),
    "zero3": ((2, 3, 4), True),
    "fsdp": ((2, 3, 4), True),
    "hsdp": ((4,), True),
    "async": ((2, 3, 4), True),
    "local_sgd": ((2, 3, 4), False),
    "diloco": ((2, 3, 4), False),
}
FEWEST, MOST = 3, 6  # daemons
STRANGERS = 2  # hosts of daemons that must not become members
GAP = (2.0, 4.0)  # seconds between faults


@dataclasses.dataclass(frozen=True)
class Scenario:
    seed: int
    strategy: str
    nodes: int  # nodes that train
    spares: int
    witnesses: int
    room: int  # free slots that a stranger could take
    tls: bool
    shared: bool  # all share one run folder
    faults: tuple  # of storm_faults.Fault
    end: float  # a draw in [0, 1) for each choice of the second phase
    broken: float
    way: str
    workers: int  # of each daemon

    def daemons(self):
        return self.nodes + self.spares + self.witnesses

    def hosts(self):
        return self.daemons() + STRANGERS

    def role(self, host):
        if host <= self.nodes:
            return "node"
        if host <= self.nodes + self.spares:
            return "spare"
        return "witness" if host <= self.daemons() else "stranger"

    def members(self):
        """Hosts of the job's daemons, without strangers."""
        return range(1, self.daemons() + 1)

    def fewest(self):
        """cluster.nodes.min: a single node would train faster than all others, and fill the disk with lines."""
        return min(2, self.nodes)

    def told(self):
        parts = [self.strategy, f"{self.nodes} nodes", f"{self.spares} spares", f"{self.witnesses} witnesses"]
        parts += [f"{self.workers} workers each"] if self.workers > 1 else []
        parts += [f"room for {self.room} more"] if self.room else []
        parts += ["TLS" if self.tls else "no TLS", "one run folder" if self.shared else "a run folder each"]
        return ", ".join(parts)


def has_one_node(strategy):
    return max(STRATEGIES[strategy][0]) == 1


def draw(seed, kinds, strategies=()):
    """Draws the scenario of a seed, with the given kinds of faults (names of storm_faults.KINDS)."""
    choose = random.Random(f"storm {seed}")
    strategy = choose.choice(list(strategies or STRATEGIES))
    sizes, divided = STRATEGIES[strategy]
    nodes = choose.choice(sizes)
    spares = choose.randint(0, max(0, min(2, MOST - nodes)))
    witnesses = choose.randint(0, max(0, min(1, MOST - nodes - spares)))
    if nodes + spares + witnesses < FEWEST:
        spares += FEWEST - nodes - spares - witnesses
    faults, at = [], 0.0
    for _ in range(choose.randint(4, 6)):
        at += choose.uniform(*GAP)
        faults.append(storm_faults.draw(choose, at, kinds))
    return Scenario(
        seed=seed,
        strategy=strategy,
        nodes=nodes,
        spares=spares,
        witnesses=witnesses,
        room=0 if spares or has_one_node(strategy) else choose.randint(0, STRANGERS),
        tls=choose.random() < 0.3,
        shared=divided or choose.random() < 0.5,
        faults=tuple(faults),
        end=choose.random(),
        broken=choose.random(),
        way=choose.choice(("nobody", "killed", "frozen", "cut off")),
        workers=1 if has_one_node(strategy) or choose.random() < 0.7 else 2,
    )
