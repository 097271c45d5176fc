"""After the faults: heals a part of the daemons that can form a job; the others stay broken."""
import signal
import time

FURTHER = 40  # steps that the job must still make
WAITS = ("waiting as a spare", "a witness of")  # phases of a daemon that has found the job but does not train
GROUPS = {"hsdp": 2}  # workers that train together


def voters(storm, among):
    """Hosts that vote on the next generation: the first five nodes of the newest one, and witnesses (docs/cluster.md)."""
    witnesses = [host for host in storm.scenario.members() if storm.scenario.role(host) == "witness"]
    return storm.job.members(among)[:5] + witnesses


def may_decide(storm, part):
    """Whether the part has a majority of votes. The vote of a restarted process counts after it has an assignment."""
    daemons = storm.job.daemons
    all_voters = voters(storm, storm.scenario.members())
    newest = max(daemon.generation for daemon in daemons.values())
    alive = [host for host in all_voters if host in part and not daemons[host].is_dead()]
    votes = [host for host in alive if daemons[host].votes == newest or storm.scenario.role(host) == "witness"]
    return 2 * len(votes) > len(all_voters)


def choose_broken(storm):
    """Draws the hosts that stay broken, by the seed; none if the remaining part could not decide."""
    scenario = storm.scenario
    hosts = list(scenario.members())
    most = 0 if scenario.way == "nobody" or scenario.nodes == 1 else (len(hosts) - 1) // 2
    count = int(scenario.end * (most + 1))
    for number in range(count, 0, -1):
        broken = storm.shuffled(scenario.broken, hosts)[:number]
        part = [host for host in hosts if host not in broken]
        train = [host for host in part if scenario.role(host) != "witness"]
        if len(train) >= fewest(scenario) and may_decide(storm, part):
            return tuple(sorted(broken))
    return ()


def fewest(scenario):
    """At least two: hsdp trains in groups of two workers, so that three remaining nodes train as two."""
    return max(2, scenario.fewest())


def break_some(storm):
    storm.broken = choose_broken(storm)
    storm.links.heal_all()
    for host in storm.broken:
        daemon = storm.job.daemons[host]
        daemon.kept, daemon.starts_at = False, None
        if storm.scenario.way == "killed":
            daemon.end("killed")
        elif storm.scenario.way == "frozen":
            daemon.signal(signal.SIGSTOP)
        else:
            storm.links.isolate(host)
    for host in part(storm):
        storm.job.daemons[host].signal(signal.SIGCONT)


def heal_rest(storm):
    """Also heals the others if the part cannot decide after all, because the membership has changed."""
    storm.links.heal_all()
    for host in storm.broken:
        storm.job.daemons[host].signal(signal.SIGCONT)
    storm.broken = ()


def part(storm):
    return [host for host in storm.scenario.members() if host not in storm.broken]


def start_all(storm):
    """Starts daemons that were drained."""
    storm.job.look()
    for host in part(storm):
        if not storm.job.daemons[host].runs():
            storm.job.start(host)
    for daemon in storm.job.daemons.values():
        daemon.kept = daemon.host in part(storm)


def goes_on(storm):
    """Whether FURTHER steps are made in time, with a leader from the part."""
    start_all(storm)
    first = storm.top()
    bound = storm.bounds.converge()
    return storm.until(lambda: storm.top() >= first + FURTHER and storm.job.leader(part(storm)) is not None, bound)


def converge(storm):
    """Waits for further steps. Returns the problems, one a line."""
    begin = time.monotonic()
    if not goes_on(storm):
        if not storm.broken or may_decide(storm, part(storm)):
            return [f"no {FURTHER} further steps within {storm.bounds.converge():.0f} s after the faults"]
        heal_rest(storm)
        if not goes_on(storm):
            return [f"no {FURTHER} further steps within {storm.bounds.converge():.0f} s after all was healed"]
    storm.converged_after = time.monotonic() - begin
    return []


def views(storm):
    """The status of each daemon of the part: generation and addresses of nodes, the leader first. None: no answer, or not a member."""
    answers = {host: storm.job.status(host) for host in part(storm)}
    return {
        host: (answer["generation"], tuple(node["address"] for node in answer["nodes"]))
        if answer and (answer["nodes"] or answer["phase"].startswith(WAITS))
        else None
        for host, answer in answers.items()
    }


def places(storm):
    """The number of nodes of the part that train after all have joined; the others wait as spares."""
    train = [host for host in part(storm) if storm.scenario.role(host) != "witness"]
    count = min(len(train), storm.scenario.nodes)
    return count - count % max(1, GROUPS.get(storm.scenario.strategy, 1) // storm.scenario.workers)


def agree(storm):
    """Waits until all daemons are members or spares and report the same nodes, as many as can train. A spare's status has no nodes."""
    seen = {}

    def same():
        seen.clear()
        seen.update(views(storm))
        named = {view for view in seen.values() if view and view[1]}
        return len(named) == 1 and all(seen.values()) and len(next(iter(named))[1]) == places(storm)

    def is_missing(host):
        return not storm.job.daemons[host].runs() and storm.job.daemons[host].starts_at is None

    agreed = False

    def settled():
        nonlocal agreed
        agreed = same()
        storm.job.look()  # daemons that have ended since are restarted later
        return agreed or any(map(is_missing, part(storm)))

    storm.until(settled, storm.bounds.agree())
    if agreed:
        return []
    if missing := [host for host in part(storm) if is_missing(host)]:
        return [f"host {host} has ended with {storm.job.daemons[host].ends[-1].code}, and so is not started again" for host in missing]
    told = "; ".join(f"host {host}: {view}" for host, view in seen.items())
    return [f"after {storm.bounds.agree():.0f} s daemons differ, or not all have come ({places(storm)} nodes): {told}"]


def end(storm):
    """Runs `troupe stop` against any daemon: all must end with 0. The first of cluster.join may also need SIGTERM."""
    running = [host for host in part(storm) if storm.job.daemons[host].runs()]
    if not running:
        return ["no daemon runs"]
    asked = storm.shuffled(storm.scenario.broken, running)[0]
    storm.ended_at = time.monotonic()
    for host in running:
        storm.job.daemons[host].asked = "stopped"
        storm.job.daemons[host].kept = False
    said = storm.job.ask(asked, "stop", "--timeout", "5s")
    if said.returncode != 0:
        return [f"troupe stop of host {asked} ends with {said.returncode}: {said.stderr.strip()}"]
    daemons = [storm.job.daemons[host] for host in running]
    others = [daemon for daemon in daemons if daemon.host != 1]
    found = []
    if not storm.until(lambda: not any(daemon.runs() for daemon in others), storm.bounds.end()):
        found += [f"host {daemon.host} ({daemon.role}) still runs {storm.bounds.end():.0f} s after troupe stop of host {asked}" for daemon in others if daemon.runs()]
    first = [daemon for daemon in daemons if daemon.host == 1]
    for daemon in first:
        daemon.end("stopped")
    if not storm.until(lambda: not any(daemon.runs() for daemon in first), storm.bounds.end()):
        found.append(f"host 1 still runs {storm.bounds.end():.0f} s after SIGTERM")
    storm.job.look()
    return found
