"""The kinds of faults of a storm."""
import storm_joiners
import storm_links
import storm_processes
from storm_kind import Fault

KINDS = {**storm_processes.KINDS, **storm_links.KINDS, **storm_joiners.KINDS}


def usual():
    return sorted(name for name, kind in KINDS.items() if kind.drawn)


def chosen(words):
    """Names of the kinds that `words` select; "kill" selects every kind that begins with it. None: a word selects no kind."""
    found = [[kind for kind in KINDS if kind == word or kind.startswith(word + "-")] for word in words]
    return sorted({kind for kinds in found for kind in kinds}) if all(found) else None


def draw(choose, at, kinds):
    kind = choose.choice(sorted(kinds))
    seconds = choose.uniform(*KINDS[kind].seconds)
    return Fault(kind, at, seconds, tuple(choose.random() for _ in range(4)))
