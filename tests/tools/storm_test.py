"""Verdicts of tools/storm are bad where something is wrong, and only there."""
import array
import dataclasses
import json
import pathlib
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools/lib"))
sys.dont_write_bytecode = True
import chaos_job  # noqa: E402
import sample_counts  # noqa: E402
import storm_bounds  # noqa: E402
import storm_faults  # noqa: E402
import storm_job  # noqa: E402
import storm_run  # noqa: E402
import storm_scenario  # noqa: E402
import storm_second_phase  # noqa: E402
import storm_verdicts  # noqa: E402

STEPS_PER_EPOCH = chaos_job.SAMPLES // chaos_job.SLICES


def state(steps, counts):
    """A checkpoint whose samples were applied so often."""
    weights = array.array("f")
    for target in sample_counts.TARGETS:
        weights.extend(target * (1 - (1 - sample_counts.PART) ** count) for count in counts)
    return {"step": steps, "fc.weight": weights.tobytes()}


class Counts(unittest.TestCase):
    def test_counts_of_whole_epochs_are_good(self):
        self.assertEqual(sample_counts.problems(state(3 * STEPS_PER_EPOCH, [3] * chaos_job.SAMPLES)), [])

    def test_counts_within_an_epoch_are_good(self):
        counts = [4] * chaos_job.SLICES + [3] * (chaos_job.SAMPLES - chaos_job.SLICES)
        self.assertEqual(sample_counts.problems(state(3 * STEPS_PER_EPOCH + 1, counts)), [])

    def test_a_sample_that_was_applied_twice_is_found(self):
        counts = [3] * chaos_job.SAMPLES
        counts[17] = 5
        self.assertIn("sample 17: 5.00", sample_counts.problems(state(3 * STEPS_PER_EPOCH, counts))[0])

    def test_one_sample_too_many_is_found(self):
        counts = [3] * chaos_job.SAMPLES
        counts[17] = 4
        self.assertIn("1 samples count 4", sample_counts.problems(state(3 * STEPS_PER_EPOCH, counts))[0])

    def test_a_lost_sample_is_found_after_two_hundred_epochs(self):
        counts = [200] * chaos_job.SAMPLES
        counts[17] = 199
        self.assertIn("sample 17: 199.0", sample_counts.problems(state(200 * STEPS_PER_EPOCH, counts))[0])


class Scenarios(unittest.TestCase):
    def test_a_seed_fixes_the_scenario(self):
        kinds = storm_faults.usual()
        drawn = [storm_scenario.draw(seed, kinds) for seed in range(300)]
        self.assertEqual(drawn, [storm_scenario.draw(seed, kinds) for seed in range(300)])
        self.assertEqual({one.strategy for one in drawn}, set(storm_scenario.STRATEGIES))
        self.assertEqual({fault.kind for one in drawn for fault in one.faults}, set(kinds))
        for one in drawn:
            self.assertTrue(storm_scenario.FEWEST <= one.daemons() <= storm_scenario.MOST, one)
            self.assertTrue(all(before.at < after.at for before, after in zip(one.faults, one.faults[1:])))

    def test_kinds_are_chosen_by_what_their_names_begin_with(self):
        self.assertEqual(storm_faults.chosen(["disk", "freeze"]), ["disk", "freeze", "freeze-long", "freeze-short"])
        self.assertIsNone(storm_faults.chosen(["disk", "nothing"]))


class FakeProcess:
    """Runs until it ends with a code."""

    code = None

    def poll(self):
        return self.code


class FakeNet:
    def processes(self, _):
        return []


class FakeJob:
    """Three nodes of which the first leads, without processes."""

    def __init__(self, folder):
        self.net = FakeNet()
        self.folder = folder
        self.daemons = {}
        for host in (1, 2, 3):
            daemon = storm_job.Daemon(host, "node", folder / f"log{host}")
            daemon.generation, daemon.rank = 1, host
            daemon.log.touch()
            self.daemons[host] = daemon

    def run(self, _):
        return self.folder

    def output(self, host):
        return self.folder / str(host)

    def leader(self, _):
        return 1

    def members(self, among):
        return [host for host in self.daemons if host in among]


class Verdicts(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        scenario = dataclasses.replace(storm_scenario.draw(1, ["kill-one"]), nodes=3, spares=0, witnesses=0, shared=True)
        self.storm = storm_run.Storm.__new__(storm_run.Storm)
        self.storm.job = FakeJob(pathlib.Path(self.folder.name))
        self.storm.scenario = scenario
        self.storm.bounds = storm_bounds.Bounds(start=1)
        self.storm.broken = ()
        self.storm.began = 1000.0
        self.storm.clock = time.time() - time.monotonic()
        self.storm.healed_at = 1100.0
        self.storm.timeline = [storm_run.Happened(1010.0, "kill-one", (2,), 1011.0, "", 5)]
        self.storm.progress = [(1000.0 + i / 5, (i,)) for i in range(500)]

    def write(self, name, text):
        (self.storm.job.folder / name).write_text(text)

    def end(self, host, at, code, asked=""):
        self.storm.job.daemons[host].ends.append(storm_job.End(at, code, asked))

    def test_a_node_that_was_killed_may_end_so_and_no_other(self):
        self.end(2, 1010.1, -9, "killed")
        self.assertEqual(storm_verdicts.exits(self.storm), [])
        self.end(3, 1010.2, 1)
        self.assertIn("host 3 (node) has ended with 1", storm_verdicts.exits(self.storm)[0])

    def test_nobody_may_end_with_2(self):
        self.end(2, 1012.0, 2)
        self.assertIn("host 2 (node) has ended with 2", storm_verdicts.exits(self.storm)[0])

    def test_a_drained_node_ends_with_0(self):
        self.end(1, 1050.0, 0, "drained")
        self.assertEqual(storm_verdicts.exits(self.storm), [])
        self.end(1, 1060.0, 1, "drained")
        self.assertEqual(len(storm_verdicts.exits(self.storm)), 1)

    def test_a_halt_without_a_fault_is_found(self):
        self.assertEqual(storm_verdicts.halts(self.storm), [])
        self.storm.progress = [sample for sample in self.storm.progress if not 1060 < sample[0] < 1075]
        self.assertIn("no step for 15", storm_verdicts.halts(self.storm)[0])

    def test_a_halt_after_a_fault_is_allowed_for_its_time(self):
        allowed = storm_verdicts.allowed_halt(self.storm, 1010, 1011)
        self.assertGreater(allowed, storm_verdicts.allowed_halt(self.storm, 1060, 1061) + 5)

    def test_lines_that_are_not_whole_are_found(self):
        self.write("events.jsonl", '{"step": 0}\n{"step": 1}\n')
        self.assertEqual(storm_verdicts.lines_whole(self.storm), [])
        self.write("events.jsonl", '{"step": 0}\n{"ste\n{"step": 1}\n')
        self.assertEqual(len(storm_verdicts.lines_whole(self.storm)), 1)
        self.write("events.jsonl", '{"step": 0}\n{"step": 1')
        self.assertEqual(len(storm_verdicts.lines_whole(self.storm)), 1)

    def test_steps_that_are_missing_or_repeated_are_found(self):
        self.write("events.jsonl", "".join(f'{{"step": {step}}}\n' for step in range(50)))
        self.assertEqual(storm_verdicts.steps_monotonic(self.storm), [])
        self.write("events.jsonl", "".join(f'{{"step": {step}}}\n' for step in (*range(20), *range(22, 50))))
        self.assertIn("no lines of 2 steps, the first 20", storm_verdicts.steps_monotonic(self.storm)[0])
        self.write("recoveries.jsonl", '{"step": 22}\n')  # the leader was lost before it had passed them on
        self.assertEqual(storm_verdicts.steps_monotonic(self.storm), [])
        self.write("events.jsonl", "".join(f'{{"step": {step}}}\n' for step in (*range(20), *range(15, 50))))
        self.assertIn("15 comes again", storm_verdicts.steps_monotonic(self.storm)[0])

    def write_steps(self, *steps):
        self.write("events.jsonl", "".join(f'{{"step": {step}}}\n' for step in steps))

    def test_lines_may_be_missing_that_a_full_disk_kept_from_a_leader_that_was_lost(self):
        self.write("recoveries.jsonl", '{"step": 200}\n{"step": 300}\n{"step": 500}\n')
        self.write_steps(*range(120), *range(200, 600))
        self.assertEqual(len(storm_verdicts.steps_monotonic(self.storm)), 1)
        self.storm.timeline = [storm_run.Happened(1010.0, "disk", (1,), 1011.0, "", 118)]
        self.assertEqual(storm_verdicts.steps_monotonic(self.storm), [])
        self.write_steps(*range(400), *range(460, 600))
        self.assertEqual(len(storm_verdicts.steps_monotonic(self.storm)), 1)

    def test_lines_of_other_leaders_may_be_missing_in_a_folder_of_its_own_if_the_log_says_so(self):
        self.write_steps(*range(120), *range(150, 200))
        self.assertEqual(len(storm_verdicts.steps_monotonic(self.storm)), 1)
        self.write("log1", "warning: the events of 30 earlier steps are lost\n")
        self.assertEqual(len(storm_verdicts.steps_monotonic(self.storm)), 1)
        self.storm.scenario = dataclasses.replace(self.storm.scenario, shared=False)
        self.assertEqual(storm_verdicts.steps_monotonic(self.storm), [])

    def test_of_a_broken_link_either_host_may_be_left_out(self):
        loss = {"is_loss": True, "step": 5, **self.loss(3, 2, 1012)}
        text = "10.93.0.3:7401 is left out: the data port of 10.93.0.3:7401 cannot be reached from 10.93.0.{}:7401"
        for link, problems in ((text.format(2), 0), (text.format(1), 1), ("10.93.0.3:7401 is gone, says 10.93.0.2:7401", 1)):
            self.write("recoveries.jsonl", json.dumps(loss | {"reason": link}) + "\n")
            self.assertEqual(len(storm_verdicts.blame(self.storm)), problems)

    def test_a_loss_that_names_the_wrong_node_is_found(self):
        at = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(1012 + self.storm.clock))
        line = '{{"generation": 2, "is_loss": true, "time": "{}", "step": 5, "reason": "node 10.93.0.{}:7401 (rank 1) was lost"}}\n'
        self.write("recoveries.jsonl", line.format(at, 2))
        self.assertEqual(storm_verdicts.blame(self.storm), [])
        self.write("recoveries.jsonl", line.format(at, 3))
        self.assertIn("blames host 3", storm_verdicts.blame(self.storm)[0])

    def loss(self, host, generation, at):
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(at + self.storm.clock))
        return {"generation": generation, "time": stamp}

    def may_blame(self, host, at=1012, generation=2):
        return storm_verdicts.may_blame(self.storm, host, self.loss(host, generation, at))

    def happens(self, kind, hosts, at=1010.0):
        self.storm.timeline = [storm_run.Happened(at, kind, hosts, at + 1, "", 5)]

    def test_only_nodes_that_a_fault_has_just_hit_may_be_blamed(self):
        self.assertTrue(self.may_blame(2))
        self.assertFalse(self.may_blame(3))
        self.assertFalse(self.may_blame(2, at=1012 + storm_verdicts.EFFECT))
        self.storm.broken = (3,)
        self.assertTrue(self.may_blame(3))

    def test_a_broken_link_may_be_blamed_on_any_node(self):
        self.happens("data-port", (1, 2))
        self.assertTrue(self.may_blame(3))

    def test_a_leader_that_was_frozen_may_blame_any_node_in_generations_that_it_led(self):
        self.happens("freeze-long", (1,))
        self.storm.job.daemons[1].led = [2]
        self.assertTrue(self.may_blame(3, generation=2))
        self.assertFalse(self.may_blame(3, generation=3))

    def test_a_node_whose_data_port_was_cut_may_end_with_1_until_it_is_dialled_again(self):
        self.happens("data-port", (1, 2))
        last = 1011 + storm_bounds.REFUSED + storm_bounds.TIMEOUTS["quorum"]
        self.end(2, last - 1, 1)
        self.assertEqual(storm_verdicts.exits(self.storm), [])
        self.end(2, last + 1, 1)
        self.assertEqual(len(storm_verdicts.exits(self.storm)), 1)
        self.storm.job.daemons[2].ends = []
        self.end(3, 1062, 1)
        self.assertIn("host 3", storm_verdicts.exits(self.storm)[0])

    def test_a_daemon_may_end_with_1_when_the_job_has_stood_still_for_the_quorum_timeout(self):
        length = storm_bounds.TIMEOUTS["quorum"]
        self.storm.progress = [sample for sample in self.storm.progress if not 1060 < sample[0] < 1060 + length]
        for at, problems in ((1060 + length, 0), (1060 + length + 2, 0), (1060 + length + 5, 1), (1060 + length / 2, 1)):
            self.storm.job.daemons[3].ends = []
            self.end(3, at, 1)
            self.assertEqual(len(storm_verdicts.exits(self.storm)), problems, at)

    def test_a_daemon_may_end_with_1_if_a_host_that_was_cut_off_did_not_reach_its_data_port(self):
        self.happens("cut", (1,))
        self.end(3, 1062, 1)
        self.assertEqual(len(storm_verdicts.exits(self.storm)), 1)
        self.write("log3", "it is not admitted, because data connections cannot be made")
        self.assertEqual(storm_verdicts.exits(self.storm), [])

    def test_a_daemon_may_end_with_1_if_its_disk_was_full(self):
        self.happens("disk", (1,))
        self.end(3, 1012, 1)
        self.write("log3", "No space left on device")
        self.assertEqual(len(storm_verdicts.exits(self.storm)), 1)
        self.storm.job.output = lambda host: self.storm.job.folder
        self.assertEqual(storm_verdicts.exits(self.storm), [])

    def test_a_drained_node_ends_with_0_unless_it_was_cut_off(self):
        for kind, problems in (("drain-leader", 1), ("drain-in-partition", 0)):
            self.storm.job.daemons[1].ends = []
            self.happens(kind, (1,))
            self.end(1, 1011, 1, "drained")
            self.assertEqual(len(storm_verdicts.exits(self.storm)), problems)

    def test_of_a_daemon_that_was_killed_nobody_counts_the_vote(self):
        daemons = self.storm.job.daemons
        for daemon in daemons.values():
            daemon.process, daemon.votes = FakeProcess(), daemon.generation
        self.assertTrue(storm_second_phase.may_decide(self.storm, [1, 2]))
        daemons[2].asked = "killed"
        self.assertFalse(storm_second_phase.may_decide(self.storm, [1, 2]))
        daemons[2].asked, daemons[2].process.code = "", 1
        self.assertFalse(storm_second_phase.may_decide(self.storm, [1, 2]))
        self.assertTrue(storm_second_phase.may_decide(self.storm, [1, 3]))

    def test_what_is_left_behind_is_found(self):
        (self.storm.job.folder / ".drafts-1-x").mkdir()
        self.assertIn(".drafts-1-x", storm_verdicts.nothing_left(self.storm)[0])

    def test_a_stranger_that_had_a_place_is_found(self):
        self.assertEqual(storm_verdicts.strangers_stay_out(self.storm), [])
        stranger = storm_job.Daemon(4, "stranger", self.storm.job.folder / "log4")
        self.storm.job.daemons[4] = stranger
        stranger.generation = 3
        self.assertIn("had a place in generation 3", storm_verdicts.strangers_stay_out(self.storm)[0])


if __name__ == "__main__":
    unittest.main()
