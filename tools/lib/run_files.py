"""What the files of a run's folder say (docs/runs.md)."""
import json


def lines(run, name):
    """Those that are whole."""
    path = run / name
    text = path.read_text() if path.exists() else ""
    return [json.loads(line) for line in text.split("\n")[:-1]]


def steps(run):
    """That the last whole line counts: nobody need read all of them."""
    path = run / "events.jsonl"
    if not path.exists():
        return 0
    with open(path, "rb") as file:
        file.seek(max(0, path.stat().st_size - 8192))
        whole = file.read().split(b"\n")[:-1]
    return json.loads(whole[-1])["step"] + 1 if len(whole) > 1 else len(whole)
