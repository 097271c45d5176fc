"""Faults of processes and of their hosts: deaths, freezes, drains, clocks and disks."""
import contextlib
import signal

from storm_kind import Kind

PAUSE = 4  # seconds until a drained daemon is started again


def kill(storm, fault, hosts):
    """Kills daemons; each is started again after 0.5 to 3 seconds."""
    pause = 0.5 + 2.5 * fault.picks[3]
    storm.note(fault, hosts, pause)
    for host in hosts:
        storm.job.daemons[host].end("killed", pause)


def kill_one(storm, fault):
    kill(storm, fault, storm.some(fault.picks[0], 1))


def kill_two(storm, fault):
    kill(storm, fault, storm.some(fault.picks[0], 2))


def kill_leader(storm, fault):
    kill(storm, fault, storm.ranks(0))


def kill_leader_and_next(storm, fault):
    kill(storm, fault, storm.ranks(0, 1))


def kill_node_and_its_replica(storm, fault):
    """The node with the next rank has the replica of a node's shard."""
    first = storm.rank(fault.picks[0])
    kill(storm, fault, storm.ranks(first, first + 1))


def freeze(storm, fault):
    leads = fault.picks[1] < 1 / 3
    hosts = storm.ranks(0) if leads else storm.some(fault.picks[0], 1)
    hosts = [host for host in hosts if storm.job.daemons[host].acts()]
    storm.note(fault, hosts, fault.seconds)
    for daemon in (storm.job.daemons[host] for host in hosts):
        process = daemon.process
        daemon.signal(signal.SIGSTOP)
        storm.later(fault.seconds, lambda daemon=daemon, process=process: daemon.process is process and daemon.signal(signal.SIGCONT))


def drain(storm, fault, leads=False):
    """Sends SIGTERM; the daemon is started again later. Hits none if the others could not continue without it."""
    hosts = storm.spared(fault.picks[0], leads)
    storm.note(fault, hosts, PAUSE)
    for host in hosts:
        storm.job.daemons[host].end("drained", PAUSE)


def drain_leader(storm, fault):
    drain(storm, fault, leads=True)


def drain_by_request(storm, fault):
    """Runs `troupe stop --node` against the node itself."""
    hosts = storm.spared(fault.picks[0], fault.picks[1] < 1 / 3)
    storm.note(fault, hosts, PAUSE)
    for host in hosts:
        storm.job.daemons[host].asked, storm.job.daemons[host].pause = "drained", PAUSE
        storm.ask_in_background(host, "stop", "--node")


def drain_in_partition(storm, fault):
    """Sends SIGTERM to a node that is cut off. The remaining nodes must suffice to continue before it is connected again: a leader without
    other nodes ends the job."""
    hosts = storm.spared(fault.picks[0], fault.picks[1] < 1 / 3, spares=False)
    storm.note(fault, hosts, PAUSE + fault.seconds)
    for host in hosts:
        cut = storm.links.isolate(host)
        storm.later(0.3, lambda host=host: storm.job.daemons[host].end("drained", PAUSE))
        storm.later(fault.seconds, lambda cut=cut: storm.links.heal(cut))


def jump(storm, fault):
    """Jumps back only without TLS: certificates of this storm are not valid before it began."""
    hosts = storm.some(fault.picks[0], 1)
    seconds = (5, 3600, -5, -3600)[int(fault.picks[1] * (2 if storm.scenario.tls else 4))]
    storm.note(fault, hosts, fault.seconds, f"by {seconds} s")
    for host in hosts:
        storm.job.set_clock(host, seconds)
        storm.later(fault.seconds, lambda host=host: storm.job.set_clock(host, 0))


def fill(storm, fault):
    hosts = storm.some(fault.picks[0], 1)
    storm.note(fault, hosts, fault.seconds)
    for host in hosts:
        filler = storm.job.output(host) / ".filler"
        with open(filler, "wb", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(bytes(1 << 20))
        storm.later(fault.seconds, lambda filler=filler: filler.unlink(missing_ok=True))


KINDS = {
    "kill-one": Kind("SIGKILL; started again after 0.5 to 3 s, as every node that is killed", kill_one),
    "kill-two": Kind("two at once", kill_two),
    "kill-leader": Kind("the node that leads", kill_leader),
    "kill-leader-and-next": Kind("that, and the one with the next rank, at once", kill_leader_and_next),
    "kill-node-and-its-replica": Kind("a node, and the one with copies of its part of the state", kill_node_and_its_replica),
    "freeze-short": Kind("SIGSTOP for less than cluster.timeouts.detection", freeze, (0.5, 0.5)),
    "freeze": Kind("SIGSTOP for 3 s", freeze, (3, 3), cuts_off=True),
    "freeze-long": Kind("SIGSTOP for 10 s", freeze, (10, 10), cuts_off=True),
    "drain": Kind("SIGTERM; started again after 4 s, as every node that is taken out", drain),
    "drain-leader": Kind("SIGTERM of the node that leads", drain_leader),
    "drain-by-request": Kind("troupe stop --node", drain_by_request),
    "drain-in-partition": Kind("SIGTERM of a node that is cut off", drain_in_partition, (2, 4), cuts_off=True),
    "clock": Kind("a clock jumps by 5 s or an hour, and back", jump, (2, 5)),
    "disk": Kind("the disk of a run folder is full", fill, (1, 3)),
}
