"""Network faults: links that are cut (also one way, or for one port), slow, or repeatedly interrupted."""
import itertools

from storm_bounds import TIMEOUTS
from storm_kind import Kind

DATA_PORT = 7402  # data port of every daemon
SLOW = 40  # kB/s of a slow link: a step's gradients need half a second
FLAPS = 4  # number of interruptions of a link


class Links:
    """Cut and slow links: packet filter rules on the receiving hosts."""

    def __init__(self, net):
        self.net = net
        self.rules = {}  # number -> (host, rule)
        self.numbers = itertools.count()
        self.applied = {}

    def apply(self):
        for host in range(1, self.net.hosts + 1):
            rules = [rule for at, rule in self.rules.values() if at == host]
            if rules != self.applied.get(host, []):
                self.net.filter(host, rules)
                self.applied[host] = rules

    def add(self, rules):
        """Adds rules (host, text); returns their numbers for heal()."""
        numbers = [next(self.numbers) for _ in rules]
        self.rules.update(zip(numbers, rules))
        self.apply()
        return numbers

    def heal(self, numbers):
        for number in numbers:
            self.rules.pop(number, None)
        self.apply()

    def heal_all(self):
        self.heal(list(self.rules))

    def deaf(self, sender, receiver):
        return [(receiver, f"ip saddr {self.net.ip(sender)} drop")]

    def between(self, one, other):
        return self.deaf(one, other) + self.deaf(other, one)

    def isolate(self, host):
        others = [other for other in range(1, self.net.hosts + 1) if other != host]
        return self.add([rule for other in others for rule in self.between(host, other)])

    def data_port(self, one, other):
        """Rules that drop the packets of data plane connections between two hosts."""
        ends = itertools.product(((one, other), (other, one)), ("sport", "dport"))
        return [(at, f"ip saddr {self.net.ip(sender)} tcp {end} {DATA_PORT} drop") for (sender, at), end in ends]

    def slow(self, sender, receiver):
        return [(receiver, f"ip saddr {self.net.ip(sender)} limit rate over {SLOW} kbytes/second burst {SLOW} kbytes drop")]


def pair(storm, fault):
    """Two nodes that train; empty if fewer than two train."""
    hosts = storm.shuffled(fault.picks[0], storm.job.members())[:2]
    return hosts if len(hosts) == 2 else []


def for_a_while(storm, fault, hosts, rules, how=""):
    storm.note(fault, hosts, fault.seconds, how)
    cut = storm.links.add(rules)
    storm.later(fault.seconds, lambda: storm.links.heal(cut))


def cut_node(storm, fault):
    hosts = storm.some(fault.picks[0], 1)
    storm.note(fault, hosts, fault.seconds)
    for host in hosts:
        cut = storm.links.isolate(host)
        storm.later(fault.seconds, lambda cut=cut: storm.links.heal(cut))


def one_way(storm, fault):
    hosts = pair(storm, fault)
    for_a_while(storm, fault, hosts, storm.links.deaf(*hosts) if hosts else [], "from the first to the second")


def slow_link(storm, fault):
    hosts = pair(storm, fault)
    for_a_while(storm, fault, hosts, storm.links.slow(*hosts) if hosts else [], "from the first to the second")


def data_port(storm, fault):
    hosts = pair(storm, fault)
    for_a_while(storm, fault, hosts, storm.links.data_port(*hosts) if hosts else [])


def slow_host(storm, fault):
    """All traffic to a host is slow."""
    hosts = storm.some(fault.picks[0], 1)
    others = [other for other in storm.scenario.members() if other not in hosts]
    for_a_while(storm, fault, hosts, [rule for host in hosts for other in others for rule in storm.links.slow(other, host)])


def swizzle(storm, fault):
    """All links of a node are cut one by one, and healed in another order."""
    hosts = storm.some(fault.picks[0], 1)
    storm.note(fault, hosts, fault.seconds)
    for host in hosts:
        others = storm.shuffled(fault.picks[1], [other for other in storm.scenario.members() if other != host])
        healed = storm.shuffled(fault.picks[2], others)
        pause = fault.seconds / (2 * len(others) + 1)
        cuts = {}
        for number, other in enumerate(others):
            storm.later(pause * number, lambda host=host, other=other: cuts.update({other: storm.links.add(storm.links.between(host, other))}))
        for number, other in enumerate(healed):
            storm.later(pause * (len(others) + 1 + number), lambda other=other: storm.links.heal(cuts[other]))


def flap(storm, fault):
    """Interrupts a link for about the time after which a silent node is declared lost."""
    hosts = pair(storm, fault)
    storm.note(fault, hosts, fault.seconds)
    if hosts:
        period = TIMEOUTS["detection"] * (0.8 + 0.4 * fault.picks[1])
        for number in range(FLAPS):
            storm.later(2 * number * period, lambda: silence(storm, hosts, period))


def silence(storm, hosts, seconds):
    cut = storm.links.add(storm.links.between(*hosts))
    storm.later(seconds, lambda: storm.links.heal(cut))


KINDS = {
    "cut": Kind("no packet comes to a node, or from it", cut_node, (1, 4), cuts_off=True),
    "one-way": Kind("what one node sends to another is lost", one_way, (1, 5), blames=False),
    "slow-link": Kind(f"what one node sends to another comes with {SLOW} kB/s", slow_link, (2, 5), blames=False),
    "slow-host": Kind("what a node hears comes so slowly", slow_host, (2, 5), blames=False),
    "data-port": Kind("two nodes reach each other, but not each other's data plane", data_port, (2, 8), blames=False),
    "swizzle": Kind("the links of a node are cut one by one, and healed in another order", swizzle, (3, 6), cuts_off=True),
    "flap": Kind("a link goes and comes, with a period near cluster.timeouts.detection", flap, (7, 7), cuts_off=True),
}
