"""DIR/report.json and DIR/report.md: written anew after each figure, so that they hold what there is."""

import json
import os

from suite import compare, roofline, sanitizer
from suite.rows import GOALS, IMAGES, TOKENS, TRAININGS
from suite.step import OURS

PARTS = ("start", "tests", "sanitizer", "step", "data", "epochs", "compare", "trace", "roofline")


class Report:
    def __init__(self, folder, date):
        self.folder = folder
        self.path = folder / "report.md"
        self.data = {"date": date, "machine": {}, "parts": {}}
        self.data.update({part: {} for part in PARTS})

    def rows(self, part):
        return self.data[part]

    def row(self, part, name):
        return self.data[part].setdefault(name, {})

    def save(self):
        self.put("report.json", json.dumps(self.data, indent=1) + "\n")
        self.put("report.md", "\n".join(self.markdown()) + "\n")

    def put(self, name, text):
        """Whole or not at all: a reader, or a kill, never meets half a file."""
        temporary = self.folder / f".{name}.tmp"
        temporary.write_text(text, encoding="utf-8")
        os.replace(temporary, self.folder / name)

    def markdown(self):
        data = self.data
        yield f"# {data['machine'].get('device') or 'No GPU'}, {data['date']}"
        yield ""
        for key, value in data["machine"].items():
            yield f"- {key}: {value}"
        yield ""
        yield "Figures of one run on one machine; peers alternate with us, medians of the rounds."
        yield from table("Parts", ["part", "state", "seconds", "why"], self.part_rows())
        yield from table("Goals", ["goal", "wanted", "measured", "met"], self.goal_rows())
        yield from table("Start-up", START_HEAD, self.start_rows())
        yield from table("Training step, images/s", STEP_HEAD, self.step_rows(IMAGES))
        yield from table("Training step, tokens/s", STEP_HEAD, self.step_rows(TOKENS))
        yield from table("End to end, CIFAR-10 at 224", EPOCHS_HEAD, self.epochs_rows())
        yield from compare.section(data["compare"])
        yield from table("CIFAR-10", ["file", "state"], data["data"].items())
        yield from table("Tests", ["program", "passed", "failed", "skipped", "seconds"], self.test_rows())
        yield from listing("Tests that failed or were skipped", self.test_notes())
        yield from table("compute-sanitizer", sanitizer.HEAD, sanitizer.rows(data["sanitizer"]))
        yield from listing("What compute-sanitizer found", sanitizer.notes(data["sanitizer"]))
        yield from listing("What has no result", self.missing())
        for name, found in data["roofline"].items():
            yield from table(f"Roofline of {name}", roofline.HEAD, roofline.rows(found), roofline.words(found))

    def part_rows(self):
        for name, part in self.data["parts"].items():
            yield [name, part["state"], number(part.get("seconds")), part.get("why", "")]

    def start_rows(self):
        for name, row in self.data["start"].items():
            rate = row.get(IMAGES, row.get(TOKENS))
            figures = [number(rate, 1), number(row.get("ms"), 2)]
            took = (row.get("startup") or {}).items()
            phases = ", ".join(f"{phase} {seconds:.1f}" for phase, seconds in took)
            searched = f"{row.get('searches', 0)} in {number(row.get('search_seconds'), 1)} s"
            memory_used = number(row.get("peak_memory_mib"))
            yield [name, number(row.get("seconds"), 1), phases, searched, *figures, memory_used, row.get("why", "")]

    def goal_rows(self):
        for what, row, figure, sense, wanted in GOALS:
            found = next((self.data[p][row] for p in ("step", "epochs", "trace") if row in self.data[p]), {})
            value = found.get("summary", {}).get(figure)
            if value is None:
                yield [what, f"{sense} {wanted:g}", "not measured", ""]
            else:
                met = value >= wanted if sense == ">=" else value <= wanted
                yield [what, f"{sense} {wanted:g}", number(value, 3), "yes" if met else "no"]

    def step_rows(self, rate):
        for name, row in self.data["step"].items():
            found = row.get("summary")
            if not found or row["rate"] != rate:
                continue
            ours = found.get(OURS, {})
            speeds = [speed(found.get(peer), rate) for peer in (OURS, "eager", "fused", "compile")]
            if "graphs" in found and "compile" not in found:
                speeds[-1] = f"{speed(found['graphs'], rate)} (graphs)"
            yield [
                name,
                *speeds,
                number(found.get("ratio_eager"), 2),
                number(found.get("ratio_best"), 2),
                number(ours.get("ms"), 2),
                f"{memory(found, OURS)} / {memory(found, 'eager')}",
                number(found.get("memory_ratio"), 2),
                number(found.get("cpu_us_per_step")),
            ]

    def epochs_rows(self):
        known = {training.name: training.known for training in TRAININGS}
        for name, row in self.data["epochs"].items():
            for who, result in row.get("results", {}).items():
                yield [
                    name,
                    who if who == OURS else f"PyTorch, resized by {who}",
                    f"{result['epochs']} of {row['wanted']}",
                    number(result.get("seconds"), 1),
                    number(result.get("accuracy"), 4),
                    number(result.get("peak_memory_mib")),
                    number(row["summary"].get(f"ratio_{who}"), 2),
                    known.get(name, "") if who == OURS else "",
                ]

    def test_rows(self):
        for name, tests in self.data["tests"].items():
            counts = [tests[key] for key in ("passed", "failed", "skipped")]
            yield [name, *map(str, counts), number(tests["seconds"])]

    def test_notes(self):
        for name, tests in self.data["tests"].items():
            yield from (f"{name}: FAILED {test}" for test in tests["failures"])
            yield from (f"{name}: skipped {test}" for test in tests["skips"])
            yield from (f"{name}: {trouble}" for trouble in tests["troubles"])

    def missing(self):
        yield from compare.missing(self.data["compare"])
        for part in ("step", "epochs"):
            for name, row in self.data[part].items():
                yield from (f"{name}, {who}: FAILED, {why}" for who, why in row.get("failed", {}).items())
                yield from (f"{name}, {who}: FAILED, {why}" for who, why in row.get("timed_out", {}).items())
                yield from (f"{name}, {who}: {why}" for who, why in row.get("left_out", {}).items())


START_HEAD = ["start", "seconds", "of which", "plans searched", "images/s or tokens/s", "ms", "peak MiB", "why"]
STEP_HEAD = ["case", "ours", "eager", "fused", "compile", "÷ eager", "÷ best", "ours, ms"]
STEP_HEAD += ["peak MiB, ours / eager", "ratio", "CPU µs/step"]
EPOCHS_HEAD = ["row", "who", "epochs", "seconds with start-up", "test accuracy", "peak MiB"]
EPOCHS_HEAD += ["times ours", "known"]


def number(value, digits=0):
    return "" if value is None else f"{value:,.{digits}f}"


def speed(found, rate):
    if not found:
        return "–"
    value = found[rate]
    return number(value, 1 if value < 1000 else 0)


def memory(found, who):
    return number(found.get(who, {}).get("peak_memory_mib")) or "–"


def table(title, head, rows, words=""):
    rows = [[str(cell).replace("|", "\\|") for cell in row] for row in rows]
    if rows:
        yield from ("", f"## {title}", "")
        yield from (words, "") if words else ()
        yield f"| {' | '.join(head)} |"
        yield "|---" * len(head) + "|"
        yield from (f"| {' | '.join(row)} |" for row in rows)


def listing(title, lines):
    lines = list(lines)
    if lines:
        yield from ("", f"## {title}", "")
        yield from (f"- {line}" for line in lines)
