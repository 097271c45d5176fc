"""bench/gpu/run with pretended failures: no cuDNN, no NCCL, no nvcc, a slow disk, a driver that is too old,
libraries in unusual places.
"""

import json
import sys
import time
import unittest

sys.dont_write_bytecode = True
from fake_programs import DOCTOR, LIBRARIES, result  # noqa: E402
from gpu_run_fixture import AMP, GpuRunCase, beside  # noqa: E402

NO_CUDNN = "cannot open libcudnn.so.9; searched: /opt/one, /opt/two (TROUPE_CUDA_LIBRARIES adds folders)"
NO_NCCL = "cannot open libnccl.so.2; searched: the loader's path (TROUPE_CUDA_LIBRARIES adds folders)"
STARTER = "bench_gpu_train_step"


def doctor_with(**facts):
    return {**DOCTOR, "cuda": {**DOCTOR["cuda"], **{name: {"value": value} for name, value in facts.items()}}}


class PretendedFailures(GpuRunCase):
    def parts_in(self, state):
        return [name for name, found in self.states().items() if found == state]

    def test_without_cudnn_its_first_part_names_the_places_and_the_others_are_skipped(self):
        self.fake.doctor(doctor_with(cuDNN=NO_CUDNN))
        self.assertEqual(self.run_suite("--first"), 1)
        self.assertEqual(self.parts_in("FAILED"), ["engines"])
        self.assertEqual(self.report["parts"]["engines"]["why"], NO_CUDNN)
        self.assertIn(NO_CUDNN, self.said)
        self.assertEqual(self.parts_in("skipped"), ["resnet18", "resnet50"])
        self.assertEqual(self.parts_in("ok"), ["doctor", "kernels", "host_waits", "gpt2"])

    def test_without_cudnn_and_doctor_the_first_program_tells(self):
        self.fake.script("troupe", "echo crashed >&2; exit 9")
        refuses = f"echo 'bench_gpu_train_step: {NO_CUDNN}' >&2; exit 3"
        self.fake.script(STARTER, f"case \"$*\" in *gpt2*) echo '{result(300, 800)}' ;; *) {refuses} ;; esac")
        self.assertEqual(self.run_suite("--first"), 1)
        self.assertEqual(self.parts_in("FAILED"), ["doctor", "resnet18"])
        self.assertEqual(self.report["parts"]["resnet18"]["why"], NO_CUDNN)
        self.assertEqual(list(self.report["start"]), ["resnet18 first", "gpt2 first"])  # it was asked once
        self.assertEqual(self.parts_in("skipped"), ["resnet50"])

    def test_without_nccl_nothing_on_one_gpu_fails(self):
        self.fake.doctor(doctor_with(NCCL=NO_NCCL))
        self.assertEqual(self.run_suite("--first"), 0, self.said)
        self.assertEqual(self.report["machine"]["cuda: NCCL"], NO_NCCL)

    def test_without_nvcc_and_its_toolkit_only_the_sanitizer_is_skipped(self):
        change = {"suite/sanitizer.py": {'["/usr/local/cuda"]': "[]"}}
        code = self.run_suite("--second", "--rounds", "1", changed=change, CUDA_HOME=str(self.scratch / "cuda"))
        self.assertEqual(code, 0, self.said)
        self.assertEqual(self.parts_in("skipped"), ["sanitizer"])
        self.assertEqual(self.parts_in("ok"), ["step", "trace", "collectives"])

    def test_with_a_driver_that_is_too_old_every_part_ends_at_once_and_says_why(self):
        found = {"version": "0.1.0", "cuda": {"driver": {"value": "for CUDA 12.2"}, "devices": {"value": "none"}}}
        self.fake.doctor(found)
        self.fake.script("nvidia-smi", "echo 'NVIDIA H200, 535.00, 143771 MiB'")
        old = "CUDA driver version is insufficient for CUDA runtime version"
        for name in (STARTER, "bench_gpu_host_waits", "troupe_gpu_tests"):
            self.fake.script(name, f"echo '{old}' >&2; exit 3")
        begin = time.monotonic()
        self.assertEqual(self.run_suite("--first"), 1)
        self.assertLess(time.monotonic() - begin, 30)
        self.assertEqual(set(self.states().values()), {"FAILED"})
        self.assertIn("driver: for CUDA 12.2", self.report["parts"]["doctor"]["why"])
        self.assertIn(old, self.report["parts"]["gpt2"]["why"])
        self.assertIn(old, str(self.report["tests"]["kernels"]["troubles"]))

    def test_libraries_of_the_system_that_are_missing_are_named(self):
        self.fake.script("ldd", "printf '\\tlibfoo.so.1 => not found\\n\\tlibm.so.6 => /lib/libm.so.6 (0x1)\\n'")
        self.assertEqual(self.run_suite("--first"), 1)
        self.assertEqual(self.parts_in("FAILED"), ["doctor"])
        self.assertIn("are not here: libfoo.so.1", self.report["parts"]["doctor"]["why"])
        self.assertEqual(self.report["machine"]["device"], "NVIDIA Fake")  # it looked on


class SlowDisk(GpuRunCase):
    """The first import of torch takes long."""

    def test_it_is_imported_while_other_parts_run(self):
        self.fake.python(eager="exit 1")
        python = (self.fake.path / "python").read_text().replace("*) echo '{\"PyTorch", "*) sleep 4; echo '{\"PyTorch")
        (self.fake.path / "python").write_text(python)
        self.assertIn("sleep 4", python)
        self.fake.script("bench_gpu_host_waits", "sleep 6; exit 1")
        begin = time.monotonic()
        self.run_suite("--first")
        seconds = time.monotonic() - begin
        self.assertEqual(self.report["machine"]["PyTorch"], "9.9")
        self.assertLess(self.report["parts"]["doctor"]["seconds"], 4, "doctor has waited for it")
        self.assertLess(seconds, 30)

    def test_only_the_first_peer_may_take_long(self):
        self.fake.python(**{name: f"sleep 3; {self.fake.serve(100, 1000)}" for name in ("eager", "fused")})
        limits = {"PEER_LIMIT = 60.0": "PEER_LIMIT = 1.0", "FIRST_PEER_LIMIT = 120.0": "FIRST_PEER_LIMIT = 30.0"}
        code = self.run_suite("step", "--only", AMP, "--rounds", "1", changed={"suite/step.py": limits})
        self.assertEqual(code, 1, self.said)
        row = self.report["step"][AMP]
        self.assertIn("eager", row["summary"])
        self.assertEqual(row["failed"]["fused"], "no result within 1 s")


class Libraries(GpuRunCase):
    """CUDA's, in places that our programs do not search by themselves."""

    def look(self, roots, **more):
        """What our program is given; the only folder that is searched."""
        line = result(300, 800).replace("}", ', "places": "$TROUPE_CUDA_LIBRARIES"}').replace('"', '\\"')
        self.fake.script(STARTER, f'echo "{line}"')
        change = {'ROOTS = ("/opt", "/usr", "/home", "/root", "/")': f'ROOTS = ("{roots}",)'}
        change |= {'TOOLKIT = ("/usr/local/cuda/lib64", "/usr/local/cuda/targets/*/lib")': "TOOLKIT = ()"}
        change |= {'["/sbin/ldconfig", "-p"]': '["true"]', **more}
        words = ("step", "--only", AMP, "--rounds", "1")
        code = self.run_suite(*words, changed={"suite/libraries.py": change}, TROUPE_CUDA_LIBRARIES="")
        self.assertEqual(code, 0, self.said)
        return self.report["step"][AMP]["runs"]["ours"][0]["places"].split(":")

    def told(self):
        return self.report["machine"].get("libraries searched on the disk")

    def test_those_of_a_python_that_is_a_wrapper_are_asked_of_it(self):
        place = self.fake.libraries(self.scratch / "venv/nvidia/cudnn/lib")
        self.fake.python(libraries=json.dumps({"libraries": [str(place)]}))
        self.assertEqual(self.look(self.scratch / "nowhere"), [str(place)])
        self.assertIsNone(self.told())

    def test_those_that_no_python_knows_are_searched_on_the_disk(self):
        packages = self.scratch / "disk/envs/a b/lib/python3.12/site-packages/nvidia"
        cudnn = self.fake.libraries(packages / "cudnn/lib", LIBRARIES[:1])
        rest = self.fake.libraries(packages / "cu13/lib", LIBRARIES[1:])
        self.assertEqual(set(self.look(self.scratch / "disk")), {str(cudnn), str(rest)})
        self.assertIn(f"libcudnn.so.9 in {cudnn}", self.told())

    def test_those_that_are_nowhere_are_named(self):
        place = self.fake.libraries(self.scratch / "disk/lib", LIBRARIES[:3])
        self.assertEqual(self.look(self.scratch / "disk"), [str(place)])
        self.assertIn("libnccl.so.2 not found", self.told())

    def test_a_search_that_takes_too_long_keeps_what_it_has_found(self):
        place = self.fake.libraries(self.scratch / "disk/lib")
        self.fake.script("find", f"echo {place}/libcudnn.so.9; sleep 1000")
        begin = time.monotonic()
        self.assertEqual(self.look("unused", **{"SEARCH_LIMIT = 5.0": "SEARCH_LIMIT = 1.0"}), [str(place)])
        self.assertLess(time.monotonic() - begin, 30)


load_tests = beside

if __name__ == "__main__":
    unittest.main()
