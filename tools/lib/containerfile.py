#!/usr/bin/env python3
"""containerfile.py FILE STAGE: prints the instructions of a stage (its name, or its number from 0), one a line: the word, a tab, the rest.
Turns a JSON list of words into a shell command, and a health check into its command."""
import json
import re
import shlex
import sys
from pathlib import Path


def instructions(text):
    """Yields word and rest of each instruction, without comments, with continued lines joined."""
    text = re.sub(r"^\s*#.*\n", "", text, flags=re.MULTILINE).replace("\\\n", " ")
    for line in filter(str.strip, text.splitlines()):
        word, rest = line.split(maxsplit=1)
        yield word.upper(), rest.strip()


def as_command(word, rest):
    if word == "HEALTHCHECK":
        rest = rest.partition(" CMD ")[2]
    return shlex.join(json.loads(rest)) if rest.startswith("[") else rest


def stages(text):
    found = []
    for word, rest in instructions(text):
        if word == "FROM":
            name = rest.partition(" AS ")[2] or str(len(found))
            found.append((name, []))
        found[-1][1].append((word, as_command(word, rest)))
    return dict(found)


def main():
    file, stage = sys.argv[1:]
    for word, rest in stages(Path(file).read_text(encoding="utf-8"))[stage]:
        print(word, rest, sep="\t")


if __name__ == "__main__":
    main()
