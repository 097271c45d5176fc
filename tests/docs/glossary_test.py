#!/usr/bin/env python3
# glossary_test.py ROOT: checks that docs/glossary.md of the source tree ROOT has an entry for every role, message and type of
# actors/interfaces.hpp, every value of parallel.strategy, and every metric of docs/metrics.md (`troupe_gpu_*` covers all metrics
# with that prefix). An entry is inline code in the first column of a table. The messages of a role are in the table whose heading
# names the role, with one entry for each overload. Prints a line for each difference; exit code 1 if there is any.
import json
import re
import sys
from collections import Counter
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(sys.argv[1])
CODE = re.compile(r"`([^`]+)`")
ACTOR = re.compile(r"\w+_actor")


def read(path):
    return (ROOT / path).read_text(encoding="utf-8")


def interfaces():
    """Returns the handlers of each typed actor and of those that it extends, by its name and without comments."""
    code = re.sub(r"//.*", "", read("actors/interfaces.hpp"))
    actors = {}
    for name, base, body in re.findall(r"using (\w+) = (caf::typed_actor|\w+::.*?extend)<(.*?)>;", code, re.DOTALL):
        actors[name] = "".join(actors.get(extended, "") for extended in ACTOR.findall(base)) + body
    return actors


def types_of(bodies):
    """Returns the types in the handlers' signatures."""
    return {name for body in bodies for name in re.findall(r"\b[A-Z]\w*", body)}


def entries():
    """Returns the inline code of first columns, by the heading above the table."""
    found, heading = {}, ""
    for line in read("docs/glossary.md").splitlines():
        if line.startswith("#"):
            heading = line
        elif line.startswith("|"):
            found.setdefault(heading, []).extend(CODE.findall(line.split("|")[1]))
    return found


def wrong_messages(actors, by_heading):
    """Compares each table of messages with the roles in its heading, of which one may have some of the other's messages."""
    tables = {heading: set(ACTOR.findall(heading)) for heading in by_heading if ACTOR.search(heading)}
    for name in sorted(set(actors) - set().union(*tables.values())):
        yield f"no heading names {name}, so its messages have no table"
    for heading, receivers in tables.items():
        wanted = Counter()
        for name in sorted(receivers):
            if name in actors:
                wanted |= Counter(re.findall(r"atom::(\w+)", actors[name]))
            else:
                yield f"the heading '{heading}' names {name}, which actors/interfaces.hpp does not have"
        listed = Counter(entry.partition("(")[0] for entry in by_heading[heading])
        for atom in sorted(wanted | listed):
            if wanted[atom] != listed[atom]:
                title = heading.lstrip("# ")
                yield f"message `{atom}`: {listed[atom]} entries in '{title}', {wanted[atom]} in actors/interfaces.hpp"


def wrong_groups(all_entries):
    """Each metric belongs to a group, and each group has a metric."""
    metrics = re.findall(r"^\| `((?:troupe|process)_\w+)`", read("docs/metrics.md"), re.MULTILINE)
    groups = [entry for entry in all_entries if re.fullmatch(r"(troupe|process)_[\w*]+", entry)]
    for metric in metrics:
        if not any(fnmatch(metric, group) for group in groups):
            yield f"no group contains the metric {metric}"
    for group in groups:
        if not any(fnmatch(metric, group) for metric in metrics):
            yield f"docs/metrics.md has no metric `{group}`"
    if not metrics:
        yield "docs/metrics.md has no table of metrics"


def mistakes():
    actors, by_heading = interfaces(), entries()
    all_entries = [entry for listed in by_heading.values() for entry in listed]
    strategies = json.loads(read("configs/schema.json"))["properties"]["parallel"]["properties"]["strategy"]["enum"]
    for kind, names in (("role", actors), ("type", types_of(actors.values())), ("strategy", strategies)):
        if not names:
            yield f"the test finds no {kind}"
        for name in sorted(names):
            if name not in all_entries and name.removesuffix("Ptr") not in all_entries:  # TPtr: a shared pointer to T
                yield f"no entry for the {kind} `{name}`"
    yield from wrong_messages(actors, by_heading)
    yield from wrong_groups(all_entries)


found = list(mistakes())
print("\n".join(f"docs/glossary.md: {mistake}" for mistake in found) or "docs/glossary.md is complete")
sys.exit(1 if found else 0)
