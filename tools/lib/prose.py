"""prose.py [--changed BASE] [--count] [FILE...]: finds sentences that are hard to read.

Looks at comments of C++, CUDA, CMake, Python and shell, and at Markdown outside of code. Rules:

  headless   a sentence begins with a clause instead of the noun that it is about: "What comes later is ..."
  behind     "behind" for a time: write "after"
  alone      "X alone": write "only X"
  person     who, he, somebody or nobody for a process or a thing: write its name, or "it"

--changed BASE: only lines that differ from that commit, in all files of ours. --count: only how many of each rule.
Prints file:line: rule: sentence. Exit code 1 when something was found, except with --count.
"""

import argparse
import collections
import pathlib
import re
import subprocess
import sys

LINE_COMMENTS = {".cpp": "//", ".hpp": "//", ".cu": "//", ".cuh": "//", ".c": "//", ".py": "#", ".sh": "#", ".cmake": "#", ".txt": "#"}

HEADLESS = re.compile(r"^(What|Whatever|Who|Whoever|Whose|Of|Those (that|which|who)|That (of|which)|Which|As (is|are|was|were))\b")
BEHIND = re.compile(r"\bbehind (each|one|the (last|next|first|step|call|others|event)|it|them|that|which|a |an )", re.IGNORECASE)
ALONE = re.compile(r"\b(?!(is|are|was|were|be|it|left|by)\b)\w+ alone\b(?! (in|on|with|at)\b)", re.IGNORECASE)
PERSON = re.compile(r"\b(who|whoever|whom|he|his|him|somebody|nobody|anybody)\b", re.IGNORECASE)
# Clauses about people, and an author's name, are fine.
PEOPLE = re.compile(r"\b(people|persons?|users?|engineers?|contributors?|operators?|readers?|researchers?|attackers?|developers?)\W+who\b|\bHe et al\b", re.IGNORECASE)
RULES = {"headless": HEADLESS, "behind": BEHIND, "alone": ALONE, "person": PERSON}

SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z`\"])")
CODE = re.compile(r"`[^`]*`")


def prose_lines(path, text):
    """Yields number and text of each line of prose; None between two paragraphs."""
    suffix = pathlib.Path(path).suffix
    if suffix == ".md":
        yield from markdown_lines(text)
        return
    mark = LINE_COMMENTS.get(suffix)
    if mark is None:
        mark = "#" if text.startswith("#!") else None
    if mark is None:
        return
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if stripped.startswith(mark):
            yield number, stripped.lstrip("/#<!").strip()
        elif mark == "//" and "///<" in line:
            yield None
            yield number, line.split("///<", 1)[1].strip()
            yield None
        else:
            yield None


def markdown_lines(text):
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if stripped.startswith("```"):
            fenced = not fenced
        if fenced or stripped.startswith("```") or not stripped:
            yield None
        elif stripped.startswith("|"):
            for cell in stripped.strip("|").split("|"):
                yield None
                yield number, cell.strip()
            yield None
        else:
            if stripped.startswith(("- ", "* ", "#")) or re.match(r"\d+\. ", stripped):
                yield None
            yield number, re.sub(r"^([-*#]+|\d+\.) +", "", stripped)


def sentences(path, text):
    """Yields the first line of each sentence, and the sentence without code."""
    piece = []
    for line in [*prose_lines(path, text), None]:
        if line is not None:
            piece.append(line)
            continue
        if piece:
            yield from split(piece)
        piece = []


def split(piece):
    starts, joined = [], ""
    for number, text in piece:
        starts.append((len(joined), number))
        joined += text + " "
    at = 0
    for sentence in SENTENCE_END.split(joined.strip()):
        at = joined.index(sentence, at)
        number = max((line for begin, line in starts if begin <= at), default=piece[0][0])
        yield number, CODE.sub("`x`", sentence)
        at += len(sentence)


def findings(path, text):
    for number, sentence in sentences(path, text):
        about_things = PEOPLE.sub("people", sentence)
        for rule, pattern in RULES.items():
            if pattern.search(about_things):
                yield number, rule, sentence


def git(*arguments):
    return subprocess.run(["git", *arguments], capture_output=True, text=True, check=True).stdout


def changed_lines(base):
    """Returns the lines of each file that differ from a commit."""
    lines, file = collections.defaultdict(set), None
    for line in git("diff", "-M", "-U0", "--diff-filter=d", base).splitlines():
        if line.startswith("+++ b/"):
            file = line[6:]
        elif match := re.match(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@", line):
            first, count = int(match[1]), int(match[2] or 1)
            lines[file].update(range(first, first + count))
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*")
    parser.add_argument("--changed", metavar="BASE")
    parser.add_argument("--count", action="store_true")
    arguments = parser.parse_args()
    changed = changed_lines(arguments.changed) if arguments.changed else None
    files = arguments.files or (sorted(changed) if changed is not None else git("ls-files").splitlines())
    counts = collections.Counter()
    for path in files:
        try:
            text = pathlib.Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            continue
        for number, rule, sentence in findings(path, text):
            if changed is not None and number not in changed[path]:
                continue
            counts[rule] += 1
            if not arguments.count:
                print(f"{path}:{number}: {rule}: {sentence[:120]}")
    if arguments.count:
        print(" ".join(f"{rule} {counts[rule]}" for rule in RULES))
        return 0
    return 1 if counts else 0


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    sys.exit(main())
