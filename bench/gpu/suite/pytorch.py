"""PyTorch's versions, asked in the background: its first import reads gigabytes from a cold disk, and later
ones are fast.
"""

import time

from suite import programs
from suite.logs import Log
from suite.programs import Trouble

VERSIONS = """
import json, torch
found = {"PyTorch": torch.__version__, "CUDA of PyTorch": torch.version.cuda}
found["cuDNN of PyTorch"] = torch.backends.cudnn.version()
try:
    import torchvision
    found["torchvision"] = torchvision.__version__
except ImportError:
    pass
print(json.dumps(found))
"""


class Import:
    """Started at once; collect() puts the versions into the report when they have come."""

    def __init__(self, suite, path):
        self.machine = suite.report.data["machine"]
        self.machine["PyTorch"] = "not known (its import has not ended)"
        self.log = Log(path)
        self.program = None
        try:
            self.program = programs.Program([*suite.python, "-c", VERSIONS], self.log, "import of torch: ")
        except Trouble as trouble:
            self.machine["PyTorch"] = f"not known ({trouble})"
            self.log.close()

    def collect(self, seconds=0.0):
        """Waits for it so long; does nothing once it has ended."""
        if self.program is None:
            return
        try:
            self.machine.update(self.program.object(time.monotonic() + seconds))
        except programs.OutOfTime:
            return
        except Trouble as trouble:
            self.machine["PyTorch"] = f"not known ({trouble})"
        self.program.end()
        self.program = None
        self.log.close()
