"""Programs that behave as their namesakes do to bench/gpu/run: they print what a test wants, hang or fail."""

import json
import pathlib
import shlex
import textwrap

DOCTOR = {
    "version": "0.1.0",
    "host": {"cpu": {"state": "ok", "value": "a processor"}},
    "cuda": {
        "build": {"state": "ok", "value": "with CUDA"},
        "device 0": {"state": "ok", "value": "NVIDIA Fake"},
    },
}
WITHOUT_GPU = {"version": "0.1.0", "cuda": {"build": {"value": "with CUDA"}, "driver": {"value": "none"}}}
EMULATED = {"cuda": {"device 0": {"value": "Emulated GPU"}}}
# What `troupe compare` writes: two lines of a head, and of each row its mode and the rest.
COMPARED = {"head": "| strategy | precision | time |\n|---|---|---|", "rest": "| 2.0 s |"}

GREEN = """
0.001 s: one
===============================================================================
All tests passed (3 assertions in 2 test cases)
"""
HOST_WAITS = {"goes_on_after_us": 3.0, "streams_that_may_wait": 32, "held_up": []}
LIBRARIES = ("libcudnn.so.9", "libcublasLt.so.13", "libnvrtc.so.13", "libnccl.so.2")
RED = """
-------------------------------------------------------------------------------
a test with a name so long that it has to be broken into two lines because of
its length
  a section
-------------------------------------------------------------------------------
some_test.cpp:3
...............................................................................

some_test.cpp:3: FAILED:
  CHECK( 1 == 2 )

-------------------------------------------------------------------------------
another
-------------------------------------------------------------------------------
some_test.cpp:9
...............................................................................

some_test.cpp:9: SKIPPED:
explicitly with message:
  needs two devices

===============================================================================
test cases: 4 | 2 passed | 1 failed | 1 skipped
assertions: 9 | 8 passed | 1 failed
"""


# As bench_gpu_train_step --profile prints them.
RATES = {"bytes_per_second": 4.3e12, "operations_per_second": {"wide": 60e12, "narrow": 790e12}, "launch_seconds": 1e-6}


def result(images_per_second, memory, **more):
    found = {"images_per_second": images_per_second, "tokens_per_second": 1e3 * images_per_second}
    found["ms"] = 1e3 * 128 / images_per_second
    return json.dumps({**found, "peak_memory_mib": memory, **more})


class Folder:
    """A folder of programs; each is a shell script."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.path.mkdir()
        self.doctor(DOCTOR)
        self.script("bench_gpu_train_step", f"echo '{result(300, 800, idle_ratio=0.01)}'")
        self.script("bench_gpu_host_waits", f"echo '{json.dumps(HOST_WAITS)}'")
        self.script("troupe_gpu_collectives_tests", f"cat <<'END'{GREEN}END")
        self.cuda = self.libraries(self.path / "cuda")
        self.gpu_tests()
        self.python()

    def script(self, name, text):
        path = self.path / name
        path.write_text("#!/bin/sh\n" + textwrap.dedent(text) + "\n")
        path.chmod(0o755)

    @staticmethod
    def libraries(folder, names=LIBRARIES):
        """Files of the names of CUDA's libraries; returns the folder."""
        folder.mkdir(parents=True)
        for name in names:
            (folder / name).touch()
        return folder

    def gpu_tests(self, run=f"cat <<'END'{GREEN}END"):
        """Two tests of each file that is asked for."""
        self.script(
            "troupe_gpu_tests",
            f"""case "$*" in *--list-tests*) file=${{2#??}}; file=${{file%]}}
            echo "casts of $file"; echo "relu, and [more] of $file"; exit ;; esac\n{run}""",
        )

    def sanitizer(self, run=""):
        """`run`: what it does before it says that all was well."""
        self.script(
            "compute-sanitizer",
            f"""case "$*" in *--version*) echo 'Version 2026.1'; exit ;; esac
            echo '========= COMPUTE-SANITIZER'
            {run}
            case "$*" in *racecheck*) echo '========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)' ;;
            *) echo '========= ERROR SUMMARY: 0 errors' ;; esac""",
        )

    @staticmethod
    def write_summary(summary):
        return (
            "for word in $*; do case $word in "
            "run.output=*) out=${word#*=} ;; run.name=*) name=${word#*=} ;; esac; done;"
            f"mkdir -p $out/$name; echo '{json.dumps(summary)}' >$out/$name/summary.json"
        )

    @staticmethod
    def compares():
        """`troupe compare` of one mode."""
        return (
            f"mkdir -p $8; echo '{COMPARED['head']}' >$8/compare.md; echo \"| $4 | $6 {COMPARED['rest']}\" >>$8/compare.md\n"
            'echo \'{"runs": [{}]}\' >$8/compare.json; echo "what $4-$6 has said" >$8/$4-$6.log'
        )

    def doctor(self, found, train="exit 3", code=0, compare="exit 3"):
        self.script(
            "troupe",
            f"case $*:$1 in\n*--json*) echo {shlex.quote(json.dumps(found))} ;;\n--version*) exit ;;\n"
            f"*:train) {train} ;;\n*:compare) {compare} ;;\n*) echo text ;;\nesac\nexit {code}",
        )

    def python(self, **variants):
        """The peer: variants are what it does once it was started as that variant."""
        replies = {"eager": self.serve(100, 1000), "fused": self.serve(120, 1000)}
        replies.update({"compile": self.serve(150, 900), **variants})
        cases = "\n".join(f"*'--variant {name} '*) {text} ;;" for name, text in replies.items())
        epochs = variants.get("epochs", "exit 3")
        libraries = variants.get("libraries", "{}")
        versions = json.dumps({"PyTorch": "9.9"})
        self.script(
            "python",
            f"case \"$* \" in\n*epochs.py*) {epochs} ;;\n*libraries*) echo '{libraries}' ;;\n{cases}\n*) echo '{versions}' ;;\nesac",
        )

    @staticmethod
    def serve(speed, memory):
        return f"echo '{{\"ready\": true}}'; while read -r line; do echo '{result(speed, memory)}'; done"
