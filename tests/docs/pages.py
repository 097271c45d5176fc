# What stands in the fences of a page, for the programs that check pages or follow them.
import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Fence:
    number: int  # of its first line in the page
    info: str  # what stands behind the backticks
    before: str  # the last line before it that is not empty
    lines: list

    @property
    def text(self):
        return "".join(line + "\n" for line in self.lines)

    @property
    def file(self):
        """The file that the sentence before it names last: "This one is `a.yaml`:". None: it names none."""
        match = re.search(r"`([\w-]+\.\w+)`:$", self.before)
        return match and match[1]


def fences(page):
    begun, before = None, ""
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        is_edge = line.lstrip().startswith("```")
        if begun and is_edge:
            yield begun
            begun, before = None, ""
        elif begun:
            begun.lines.append(line)
        elif is_edge:
            begun = Fence(number, line.strip()[3:], before, [])
        elif line.strip():
            before = line
