"""Reads the files of a run's folder (docs/runs.md)."""
import json


def lines(run, name):
    """The complete lines of a file."""
    path = run / name
    text = path.read_text() if path.exists() else ""
    return [json.loads(line) for line in text.split("\n")[:-1]]


def steps(run):
    """The number of steps, from the last complete line: reading all lines would be slow."""
    path = run / "events.jsonl"
    if not path.exists():
        return 0
    with open(path, "rb") as file:
        file.seek(max(0, path.stat().st_size - 8192))
        whole = file.read().split(b"\n")[:-1]
    return json.loads(whole[-1])["step"] + 1 if len(whole) > 1 else len(whole)
