"""Parts that need cuDNN: where it is missing, the first fails with the places that were searched, and the
others are skipped.
"""

import re

from suite.programs import Skipped, Trouble

MISSING = re.compile(r"cannot open libcudnn\.so.*")
FACT = "cuda: cuDNN"  # of `troupe doctor`, in the report's machine


def hear(suite, line):
    """For Program's `hear`: a program of ours may be the first to miss it, if doctor did not answer."""
    if match := MISSING.search(line):
        suite.report.data["machine"][FACT] = match[0]
        suite.report.data["no_cudnn"] = True


def check(suite):
    """Before a part that needs it: raises Trouble once, Skipped from then on."""
    if suite.report.data.get("no_cudnn"):
        raise Skipped("needs cuDNN, which was not found")
    if match := MISSING.search(suite.report.data["machine"].get(FACT, "")):
        suite.report.data["no_cudnn"] = True
        raise Trouble(match[0])
