#!/usr/bin/env python3
# check_pages.py ROOT TROUPE: what the pages below ROOT (a source tree, or an installed share/doc/troupe) refer to is
# there: files and headings that they link to, the subcommands, options and configs of the commands that they show, and
# the code that they quote: a fence that says a language and a file has lines of that file, `...` between pieces.
# Prints one line a mistake; exit code 1 when there is any.
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

from pages import fences

ROOT, TROUPE = Path(sys.argv[1]), sys.argv[2]
HAS_CODE = (ROOT / "CMakeLists.txt").exists()  # an installed tree has pages without the code
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
COMMAND = re.compile(r"(?:^|[\s/`(])troupe +([a-z]+)(?![\w/])((?: +[^\s`]+)*)")


def pages():
    for pattern in ("*.md", "docs/**/*.md", "dashboards/*.md", "examples/**/*.md"):
        yield from sorted(ROOT.glob(pattern))


def lines_of(page):
    """Number, text, and whether it is inside a fence, where links are none. A command that goes on is one line."""
    fenced, begun = False, ""
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif fenced and line.endswith("\\"):
            begun += line[:-1]
        else:
            yield number, begun + line, fenced
            begun = ""


@cache
def anchors(page):
    """Headings as GitHub names them."""
    headings = [line.lstrip("#").strip() for _, line, fenced in lines_of(page) if line.startswith("#") and not fenced]
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def wrong_links(page, line):
    for target in LINK.findall(re.sub(r"`[^`]*`", "", line)):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = page.parent / path if path else page
        if not HAS_CODE and file.suffix in (".cpp", ".hpp"):
            continue
        if not file.exists():
            yield f"there is no {path}"
        elif anchor and anchor not in anchors(file):
            yield f"{file.name} has no heading #{anchor}"


@cache
def help_of(*command):
    return subprocess.run([TROUPE, *command, "--help"], capture_output=True, text=True, check=True).stdout


@cache
def subcommands(*command):
    _, _, listed = help_of(*command).partition("ubcommands:")
    return set(re.findall(r"^ +([a-z]+) ", listed, re.MULTILINE))


def known_options(*command):
    found = set(re.findall(r"--[a-z][a-z-]*", help_of(*command)))
    return found.union(*(known_options(*command, nested) for nested in subcommands(*command)))


def wrong_commands(line):
    for command, arguments in COMMAND.findall(re.split(r"\s#\s", line)[0]):
        if command not in subcommands():
            yield f"there is no subcommand `troupe {command}`"
            continue
        arguments = re.split(r"   +", arguments.strip())[0].split()  # without what a second column says
        if subcommands(command) and arguments:
            for nested in arguments[0].split("|"):
                if nested not in subcommands(command):
                    yield f"there is no subcommand `troupe {command} {nested}`"
        for argument in (argument.strip("[]") for argument in arguments):
            if re.match("--[a-z]", argument) and argument.split("=")[0] not in known_options(command):
                yield f"`troupe {command}` has no option {argument}"
            elif re.fullmatch(r"configs/[\w./]+\.yaml", argument) and not (ROOT / argument).exists():
                yield f"there is no {argument}"


def quotes(page):
    """Number, file and code of each fence that names a file."""
    if not HAS_CODE:
        return
    for fence in fences(page):
        if match := re.fullmatch(r"\w+ (\S+/\S+)", fence.info):
            yield fence.number, match[1], [line.strip() for line in fence.lines]


def wrong_quote(file, code):
    """The first piece that does not stand in the file, whatever its indent."""
    if not (ROOT / file).exists():
        return f"there is no {file}"
    lines = [line.strip() for line in (ROOT / file).read_text(encoding="utf-8").splitlines()]
    for piece in "\n".join(code).split("\n...\n"):
        wanted = piece.strip("\n").split("\n")
        if not any(lines[at : at + len(wanted)] == wanted for at in range(len(lines))):
            return f"{file} does not have: {wanted[0]}"
    return None


def mistakes():
    for page in pages():
        for number, file, code in quotes(page):
            if mistake := wrong_quote(file, code):
                yield f"{page.relative_to(ROOT)}:{number}: {mistake}"
        for number, line, fenced in lines_of(page):
            in_code = [line] if fenced else re.findall(r"`[^`]+`", line)
            found = [] if fenced else list(wrong_links(page, line))
            for code in in_code:
                found += wrong_commands(code)
            for mistake in found:
                yield f"{page.relative_to(ROOT)}:{number}: {mistake}"


found = list(mistakes())
print("\n".join(found) or f"{len(list(pages()))} pages refer to what is there")
sys.exit(1 if found or not list(pages()) else 0)
