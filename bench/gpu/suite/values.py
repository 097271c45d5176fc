"""The parts that compare values of the device with loops on the host: chosen files of tests, each in a process
of its own, one after another.
"""

from dataclasses import dataclass

from suite import cudnn
from suite.programs import Trouble
from suite.tests import Piece, Results, command

GPU_TESTS = "troupe_gpu_tests"
COLLECTIVES_TESTS = "troupe_gpu_collectives_tests"


@dataclass(frozen=True)
class Tests:
    """Tests of a program: those of a file, or the one with that name."""

    program: str
    what: str
    by_name: bool = False

    def piece(self, suite):
        chosen = [self.what] if self.by_name else ["-#", f"[#{self.what}]"]
        return Piece(self.what, command(suite, self.program, *chosen), f"{self.what}: ")


class Values:
    """A part."""

    LOG = "tests"

    def __init__(self, name, what, tests, tiny, needs_cudnn=False):
        self.name, self.WHAT, self.tests, self.tiny = name, what, tests, tiny
        self.needs_cudnn = needs_cudnn
        self.NEEDS = ("cuDNN",) if needs_cudnn else ()

    def pieces(self, suite):
        return [tests.piece(suite) for tests in (self.tiny if suite.options.tiny else self.tests)]

    def plan(self, suite):
        yield from (piece.command for piece in self.pieces(suite))

    def run_part(self, suite, log, deadline):
        if self.needs_cudnn:
            cudnn.check(suite)
        for program in dict.fromkeys(tests.program for tests in self.tests):
            if not suite.has(program):
                raise Trouble(f"{program} is not here: built without CUDA?")
        results = Results(suite, log, self.name)
        results.run(self.pieces(suite), 1, deadline)
        if bad := results.why_bad():
            raise Trouble(f"not green: {bad}")


FILES = ["kernels_test", "flat_kernels_test", "language_kernels_test", "matmul_plan_registry_test", "column_sums_test"]
KERNELS = Values(
    "kernels",
    "tests of our kernels and of products, for their values",
    [*(Tests(GPU_TESTS, file) for file in FILES), Tests(GPU_TESTS, "language models", by_name=True)],
    [Tests(GPU_TESTS, "kernels_test"), Tests(GPU_TESTS, "flat_kernels_test")],
)
ENGINES = Values(
    "engines",
    "tests of cuDNN's engines, plain and fused, for their values",
    [Tests(GPU_TESTS, "cudnn_patterns_device_test")],
    [Tests(GPU_TESTS, "the statistics of a convolution's epilogue match loops", by_name=True)],
    needs_cudnn=True,
)
COLLECTIVES = Values(
    "collectives",
    "tests of collectives between ranks that share the GPU, and of streams that wait for the host",
    [
        Tests(COLLECTIVES_TESTS, "results_test"),
        Tests(GPU_TESTS, "host_wait_test"),
        Tests(COLLECTIVES_TESTS, "failures_test"),
    ],
    [Tests(COLLECTIVES_TESTS, "all_reduce gives every rank the sum", by_name=True)],
)
