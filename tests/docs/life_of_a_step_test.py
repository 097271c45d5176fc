#!/usr/bin/env python3
# life_of_a_step_test.py ROOT: each step of docs/life-of-a-step.md names a file of ROOT and a function that this file
# defines or declares. Prints one line for each mistake; exit code 1 if there is any.
import re
import sys
from pathlib import Path

REFERENCE = re.compile(r"\[([^\]]*)\]\(\.\./([^)\s]+)\)\s+`([^`]+)`")
STEP = re.compile(r"^\d+\. ", re.MULTILINE)


def steps(text):
    """Yields the number of the first line and the text of each step, from its number to the next step or paragraph."""
    for match in STEP.finditer(text):
        body = re.split(r"\n\n|\n(?=\d+\. )", text[match.start() :], maxsplit=1)[0]
        yield text.count("\n", 0, match.start()) + 1, body


def has_function(path, function):
    """Looks for a definition or declaration, as clang-format writes it: not indented, or inside of its class."""
    text = path.read_text(encoding="utf-8")
    if re.search(rf"^(?:[^\s/#].*[ &*])?{re.escape(function)}\(", text, re.MULTILINE):
        return True
    owner, _, name = function.rpartition("::")
    # Before the name of a member is its return type. Before that of a called function there is none, or "return".
    member = rf"^ +(?! |return\b)[\w:<>,&*\[\] ]+[ &*]{name}\("
    return bool(owner and re.search(rf"\b(class|struct) {owner}\b[^;]*{{", text) and re.search(member, text, re.MULTILINE))


def mistakes(root):
    page = root / "docs/life-of-a-step.md"
    found = list(steps(page.read_text(encoding="utf-8")))
    if not found:
        yield f"{page}: it has no steps"
    for number, step in found:
        references = REFERENCE.findall(step)
        if not references or len(references) != step.count("](../"):
            yield f"{page.name}:{number}: each link to a file needs a function: [FILE](../FILE) `FUNCTION`"
        for text, file, function in references:
            if text != file:
                yield f"{page.name}:{number}: the link to {file} says {text}"
            if not (root / file).is_file():
                yield f"{page.name}:{number}: {file} does not exist"
            elif not has_function(root / file, function):
                yield f"{page.name}:{number}: {file} has no function {function}"


def main():
    found = list(mistakes(Path(sys.argv[1])))
    print("\n".join(found) or "all files and functions exist")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
