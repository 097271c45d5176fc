# Follows a page as a newcomer would, from its first line to its last, in a folder: writes the files that it shows, runs its commands,
# and compares what they say with what it shows.
import re
import subprocess
import sys

from pages import fences


def die(text):
    sys.exit(f"{sys.argv[0].rpartition('/')[2]}: {text}")


def run(command, code=0, says=(), **arguments):
    """The command's output, both kinds, after it ended with the exit code and said these texts."""
    done = subprocess.run(
        command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, **arguments
    )
    if done.returncode != code:
        die(f"exit code {done.returncode}, not {code}: {command}\n{done.stdout}")
    for text in says:
        if text not in done.stdout:
            die(f"no '{text}' in what this says: {command}\n{done.stdout}")
    return done.stdout


def changed(text, changes, name):
    """With each (old, new) of the changes, whose old texts have to be there: a page that moves on takes them along."""
    for old, new in changes:
        if text.count(old) != 1:
            die(f"{name} has '{old}' {text.count(old)} times; it is to become '{new}'")
        text = text.replace(old, new)
    return text


def masked(line, names):
    """Without what differs from run to run and machine to machine: numbers, durations, which of the names it is."""
    line = re.sub(r"(\d+ min )?[\d.]+ m?s\b", "#", line)
    line = re.sub(r"\d+([.,:]\d+)*(e[+-]?\d+)?", "#", line)
    line = re.sub("|".join(rf"\b{name}\b" for name in names) or "$^", "NAME", line)
    return re.sub(r"\s+", " ", line).strip()


def check_shown(fence, said, names):
    """Every line that the page shows was said, in the same order. `...` stands for any lines."""
    rest = iter([masked(line, names) for line in said.splitlines()])
    for number, line in enumerate(fence.lines, fence.number + 1):
        wanted = masked(line, names)
        if wanted != "..." and wanted not in rest:
            die(f"line {number} shows what was not said: {line}\n{said}")


def obey(line, work, environment, python3):
    script = re.fullmatch(r"python3 (\S+)", line)
    return python3(script[1]) if script else run(["bash", "-euc", line], cwd=work, env=environment)


def follow(page, work, environment, changes, python3, names=(), echo=False):
    """`changes` has for each file of the page that one changes the pairs (old, new); `python3` gets the name of a script and gives
    what it said, or None where it is not to be compared; `names` stand for each other in what is said; `echo` prints it.
    """
    left, said = dict(changes), None
    for fence in fences(page):
        if fence.file:
            text = changed(fence.text, left.pop(fence.file, ()), f"{fence.file} of {page.name}")
            (work / fence.file).write_text(text, encoding="utf-8")
        elif fence.info == "sh":
            parts = [obey(line, work, environment, python3) for line in fence.lines]
            said = None if None in parts else "".join(parts)
            if echo:
                print("".join(f"$ {line}\n" for line in fence.lines) + (said or ""), flush=True)
        elif not fence.info and said is not None:
            check_shown(fence, said, names)
            said = None
    if left:
        die(f"{page.name} shows no {', '.join(left)}")
