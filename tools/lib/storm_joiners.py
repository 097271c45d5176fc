"""Faults by joining daemons: some that must not become members, and a replay of the messages of one that may."""
import storm_replay
from storm_kind import Kind
from storm_processes import PAUSE

UNDER_WAY = 0.5  # seconds from the daemon's start until it asks for its assignment


def stranger(storm, fault, number, more=None, cut_data=False, seed=None):
    """Starts a daemon on a host of its own; it is restarted like others for fault.seconds, then killed."""
    host = storm.scenario.daemons() + 1 + number
    cut = storm.links.add([rule for other in storm.scenario.members() for rule in storm.links.data_port(host, other)]) if cut_data else []
    storm.job.daemons[host].garbles = seed
    storm.job.start(host, more)

    def leave():
        daemon = storm.job.daemons[host]
        daemon.kept, daemon.starts_at = False, None
        daemon.end("killed")
        storm.links.heal(cut)

    storm.later(fault.seconds, leave)
    return host


def bad(storm, fault, draw, number=0):
    """Starts a stranger with one of five defects, chosen by draw in [0, 1)."""
    tables = storm.job.tables
    ways = {
        "other data": {"data.root": tables / "other"},
        "fewer rows": {"data.root": tables / "fewer"},
        "a name that does not resolve": {"cluster.listen.advertise": "nowhere.invalid:7401"},
        "an address where nothing listens": {"cluster.listen.advertise": f"{storm.job.net.network}.254:9"},
        "a data port that cannot be reached": {},
    }
    way = list(ways)[int(draw * len(ways))]
    return stranger(storm, fault, number, ways[way], cut_data=not ways[way]), way


def free(storm, count):
    """Whether the first `count` hosts of strangers have no daemon."""
    first = storm.scenario.daemons() + 1
    hosts = range(first, first + count)
    return not any(storm.job.daemons[host].runs() or storm.job.daemons[host].starts_at for host in hosts)


def one(storm, fault, low, high):
    if free(storm, 1):
        host, way = bad(storm, fault, low + (high - low) * fault.picks[0])
        storm.note(fault, [host], fault.seconds, way)


def other_data(storm, fault):
    one(storm, fault, 0, 0.4)


def wrong_address(storm, fault):
    one(storm, fault, 0.4, 0.8)


def no_data_port(storm, fault):
    one(storm, fault, 0.8, 1)


def two(storm, fault):
    if free(storm, 2):
        came = [bad(storm, fault, fault.picks[number], number) for number in range(2)]
        storm.note(fault, [host for host, _ in came], fault.seconds, " and ".join(way for _, way in came))


def at_hand_over(storm, fault):
    """Starts a bad daemon while the leader leaves."""
    if free(storm, 1):
        host, way = bad(storm, fault, fault.picks[1])
        leaves = storm.spared(fault.picks[0], leads=True)
        storm.note(fault, [host, *leaves], fault.seconds, f"{way}, while the leader leaves")
        for leader in leaves:
            storm.later(UNDER_WAY, lambda leader=leader: storm.job.daemons[leader].end("drained", PAUSE))


def other_bytes(storm, fault):
    """Starts a daemon that may join and sends corrupted messages: from its handshake on, or later, while it waits for an assignment or trains."""
    if storm.job.libraries.bytes and free(storm, 1):
        delay = 0 if fault.picks[0] < 0.3 else 2 * fault.picks[0]
        host = storm.scenario.daemons() + 1
        storm.job.garble(host, False)
        stranger(storm, fault, 0, seed=int(fault.picks[1] * 10**9))
        storm.note(fault, [host], fault.seconds, f"from {delay:.1f} s on")
        storm.later(delay, lambda: storm.job.garble(host, True))


def replay(storm, fault):
    """Kills a node, which joins again through a proxy; the proxy replays its messages later."""
    hosts = storm.some(fault.picks[0], 1)
    leader = storm.job.leader()
    if not hosts or leader is None or hosts[0] == leader:
        return
    storm.note(fault, hosts, fault.seconds)
    proxy = storm_replay.Proxy(storm.job.net, leader)
    storm.job.daemons[hosts[0]].joins = [proxy.address()]
    storm.job.daemons[hosts[0]].end("killed", 1)
    storm.later(fault.seconds, lambda: storm_replay.say_again(storm.job.net, proxy, storm.job.scenario.members()))


KINDS = {
    "join-other-data": Kind("a daemon comes whose data are other ones", other_data, (4, 6), halts=False),
    "join-wrong-address": Kind("one whose cluster.listen.advertise leads nowhere", wrong_address, (4, 6), halts=False),
    "join-no-data-port": Kind("one whose data plane reaches nobody, and is reached by nobody", no_data_port, (4, 6), halts=False),
    "join-two": Kind("two of these at once", two, (4, 6), halts=False),
    "join-at-hand-over": Kind("one of these, while the node that leads leaves", at_hand_over, (4, 6)),
    "bytes": Kind("a daemon comes whose messages are changed just before they are encrypted", other_bytes, (5, 7), drawn=False),
    "replay": Kind("a node joins again; later the same bytes come once more", replay, (5, 7)),
}
