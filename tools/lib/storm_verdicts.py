"""Checks of a storm, after its end."""
import datetime
import json
import re

import checkpoint_files
import run_files
import sample_counts
import storm_bounds
import storm_second_phase
from storm_bounds import TIMEOUTS
from storm_faults import KINDS

LOST_LINES = 20  # steps before the loss of a leader whose lines it may not have sent to others
LINE_FILES = ("events.jsonl", "epochs.jsonl", "recoveries.jsonl")
ANSWER = 3 * TIMEOUTS["detection"]  # seconds that the last request of a daemon may take
EFFECT = 20  # seconds after a fault in which it may still have effects
LOST = re.compile(r"the events of (\d+) earlier steps are lost")
NAMED = re.compile(r"\d+\.\d+\.\d+\.(\d+):7401")


def last_leader(storm):
    return storm.job.leader(storm_second_phase.part(storm)) or 1


def last_run(storm):
    """The folder of the run, on the host of the last leader."""
    return storm.job.run(last_leader(storm))


def counts_exact(storm):
    newest = checkpoint_files.newest(last_run(storm))
    if newest is None:
        return ["no checkpoint"]
    return sample_counts.problems(checkpoint_files.read(newest))


def saved_at_the_end(storm):
    newest = checkpoint_files.newest(last_run(storm))
    saved = int(newest.name.removeprefix("step-")) if newest else 0
    steps = run_files.steps(last_run(storm))
    return [] if saved == steps else [f"the last checkpoint is of step {saved}, but {steps} steps have lines"]


def steps_monotonic(storm):
    """Lines of a few steps may only be missing if a leader was lost or its disk was full."""
    steps = [line["step"] for line in run_files.lines(last_run(storm), "events.jsonl")]
    if steps != sorted(set(steps)):
        first = next(after for before, after in zip(steps, steps[1:]) if after <= before)
        return [f"steps of events.jsonl are not one after the other: {first} comes again, or late"]
    missing = sorted(set(range(steps[-1] + 1)) - set(steps)) if steps else []
    changes = sorted({line["step"] for line in run_files.lines(last_run(storm), "recoveries.jsonl")})
    allowed = {step for change in changes for step in range(change - LOST_LINES, change)} | kept_from_disk(storm, changes)
    lost = [step for step in missing if step not in allowed]
    if not storm.scenario.shared and len(lost) <= told_lost(storm):
        return []
    return [f"events.jsonl has no lines of {len(lost)} steps, the first {lost[0]}"] if lost else []


def told_lost(storm):
    """Steps whose lines the last leader reports as lost: it resumed the job in its own folder, after others had led."""
    return sum(map(int, LOST.findall(log_of(storm, last_leader(storm)))))


def kept_from_disk(storm, changes):
    """Steps whose lines a full disk may have cost: they are queued in the memory of a leader, which may be lost, or which may reread its files
    when steps are repeated."""
    steps = set()
    for happened in storm.timeline:
        if happened.kind == "disk" and shares_disk(storm, happened, last_leader(storm)):
            later = [change for change in changes if change > happened.step]
            steps |= set(range(happened.step, max(later[:2], default=happened.step)))
    return steps


def lines_whole(storm):
    found = []
    for host in storm_second_phase.part(storm):
        for name in LINE_FILES:
            path = storm.job.run(host) / name
            raw = path.read_bytes() if path.exists() else b""
            bad = [number for number, line in enumerate(raw.split(b"\n")[:-1], 1) if not is_object(line)]
            if bad or (raw and not raw.endswith(b"\n")):
                found.append(f"{path.parent.parent.name}/{name} has a line that is not whole: {bad[:3] or 'the last'}")
    return sorted(set(found))


def is_object(line):
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False


def halts(storm):
    """Reports halts longer than the faults at that time allow."""
    found, since = [], None
    for (at, steps), (_, before) in zip(storm.progress[1:], storm.progress):
        if steps != before:
            if since is not None and at - since > allowed_halt(storm, since, at):
                found.append(f"no step for {at - since:.1f} s from {since - storm.began:.1f} s on; {allowed_halt(storm, since, at):.1f} s may be")
            since = at
    return found


def allowed_halt(storm, begin, end):
    """Seconds without a step that faults allow: until they end and the nodes have built the next generation."""
    allowed = storm.bounds.calm()
    for happened in storm.timeline:
        if KINDS[happened.kind].halts and happened.at <= end and happened.end + EFFECT >= begin:
            allowed += happened.end - happened.at + storm.bounds.change()
    return allowed + (storm.bounds.converge() if end > storm.healed_at else 0)


def was_hit(storm, host, begin, end):
    return any(host in happened.hosts and happened.at <= end and happened.end + EFFECT >= begin for happened in storm.timeline)


def exits(storm):
    """A daemon that no fault has hit may only end on request, with 0; none may end with 2."""
    found = []
    for host in storm.scenario.members():
        for end in storm.job.daemons[host].ends:
            allowed = allowed_codes(storm, host, end)
            if end.code not in allowed:
                found.append(
                    f"host {host} ({storm.scenario.role(host)}) has ended with {end.code} at {end.at - storm.began:.1f} s, {end.asked or 'without being asked'}; "
                    + f"allowed: {', '.join(map(str, sorted(allowed))) or 'no end'}"
                )
    return found


def allowed_codes(storm, host, end):
    hit = was_hit(storm, host, end.at - 1, end.at)
    if end.asked == "killed":
        return {-9, 0, 1} if hit else {-9}
    if end.asked in ("drained", "stopped"):
        partition = any(
            host in happened.hosts and (not happened.kind.startswith("drain") or KINDS[happened.kind].cuts_off) and happened.at <= end.at <= happened.end + EFFECT
            for happened in storm.timeline
        )
        return {0, 1} if end.asked == "drained" and partition else {0}
    stays_broken = host in storm.broken and end.at > storm.healed_at
    may_fail = hit or stays_broken or stood_still(storm, end.at) or was_unreachable(storm, host, end.at) or had_full_disk(storm, host, end.at)
    return {1} if may_fail else set()


def was_unreachable(storm, host, at):
    """An unreachable data port is dialled again after a minute, which is longer than `quorum` here. A host that was cut off may not have
    reached another host's port; then its log says so."""
    recent = [happened for happened in storm.timeline if happened.at <= at <= happened.end + storm_bounds.REFUSED + TIMEOUTS["quorum"]]
    if any(host in happened.hosts and not KINDS[happened.kind].blames for happened in recent):
        return True
    return any(KINDS[happened.kind].cuts_off for happened in recent) and "data connections cannot be made" in log_of(storm, host)


def had_full_disk(storm, host, at):
    """Whether the daemon met a disk filled by a fault: its own, or another host's if they share the folder."""
    full = any(
        happened.kind == "disk" and shares_disk(storm, happened, host) and happened.at <= at <= happened.end + EFFECT for happened in storm.timeline
    )
    return full and "No space left on device" in log_of(storm, host)


def shares_disk(storm, happened, host):
    return any(storm.job.output(other) == storm.job.output(host) for other in happened.hosts)


def log_of(storm, host):
    return storm.job.daemons[host].log.read_text(errors="replace")


def stood_still(storm, at):
    """Whether the job made no step for cluster.timeouts.quorum: then daemons may end with 1, also a little later, after their last request got
    no answer. Other verdicts report the halt."""
    length = TIMEOUTS["quorum"] - 2
    first = max(storm.began, at - length - ANSWER)
    changes = [first] + [when for (when, steps), (_, before) in zip(storm.progress[1:], storm.progress) if first < when <= at and steps != before] + [at]
    return at - storm.began > length and any(after - before >= length for before, after in zip(changes, changes[1:]))


def blame(storm):
    """Each loss must name a host that a fault has just hit. After a broken link, it may name either of its hosts."""
    found = []
    for line in run_files.lines(last_run(storm), "recoveries.jsonl"):
        named = NAMED.findall(line["reason"])
        blamed = named if "data port" in line["reason"] else named[:1]
        if line["is_loss"] and named and not any(may_blame(storm, int(host), line) for host in blamed):
            found.append(f"generation {line['generation']} blames host {named[0]}, to which nothing happened: {line['reason']}")
    return found


def when(storm, line):
    """The time of a line by this process's clock; None if clocks of hosts jump."""
    if any(fault.kind == "clock" for fault in storm.scenario.faults):
        return None
    return datetime.datetime.fromisoformat(line["time"].replace("Z", "+00:00")).timestamp() - storm.clock


def may_blame(storm, host, line):
    """Whether a loss may name the host. A leader that was frozen or cut off may name any host: it has lost all others."""
    at = when(storm, line)
    recent = [happened for happened in storm.timeline if at is None or happened.at - 1 <= at <= happened.end + EFFECT]
    if host in storm.broken or any(host in happened.hosts or not KINDS[happened.kind].blames for happened in recent):
        return True
    cut_off = {other for happened in recent if KINDS[happened.kind].cuts_off for other in happened.hosts}
    return any(line["generation"] in storm.job.daemons[other].led for other in cut_off)


def strangers_stay_out(storm):
    """Checks that no stranger was a member of the job, and that each ended with a documented exit code."""
    strangers = [daemon for daemon in storm.job.daemons.values() if daemon.role == "stranger"]
    found = [
        f"host {one.host}, which must not take part, had a place in generation {one.generation}"
        for one in strangers
        if one.generation and one.garbles is None  # a daemon that only garbles its messages may become a member
    ]
    for one in strangers:
        found += [f"host {one.host}, which must not take part, has ended with {end.code}" for end in one.ends if end.code not in (-9, 0, 1, 2)]
    return found


def nothing_left(storm):
    found = []
    # Skips daemons without a generation: they do not write to their run folder, where an earlier
    # process of them may have been killed.
    for run in {storm.job.run(host) for host in storm_second_phase.part(storm) if storm.scenario.shared or storm.job.daemons[host].votes}:
        left = [path.name for path in run.rglob("*") if path.name.startswith(".drafts-") or ".tmp-" in path.name]
        found += [f"{run.parent.name} still has {name}" for name in sorted(left)[:5]]
    for host in storm_second_phase.part(storm):
        if pids := storm.job.net.processes(host):
            found.append(f"host {host} still has processes {pids}")
    return found


CHECKS = {
    "counts": counts_exact,
    "steps": steps_monotonic,
    "lines": lines_whole,
    "halts": halts,
    "exits": exits,
    "blame": blame,
    "strangers": strangers_stay_out,
}
# Only if the job has ended.
LAST_CHECKS = {"saved": saved_at_the_end, "leftovers": nothing_left}


def judge(storm, struck):
    """Returns the problems of each failed verdict, by name. `struck`: problems of the second phase."""
    failed = {"converged": struck} if struck else {}

    def apply(checks):
        failed.update({name: found for name, check in checks.items() if (found := check(storm))})

    if not struck:
        apply({"views": storm_second_phase.agree, "ends": storm_second_phase.end})
    has_ended = not failed.keys() & {"converged", "ends"}
    apply(CHECKS)
    if has_ended:
        apply(LAST_CHECKS)
    return failed
