#!/usr/bin/env python3
# check_events.py PROTOC RUN: the event files of a run's folder are whole (lengths and checksums), protoc understands every
# record, and their values are those of events.jsonl and epochs.jsonl. Where TensorBoard is installed its own reader has
# to say the same. Prints how many files and scalars it has seen; exit code 1 with the first difference.
import json
import re
import struct
import subprocess
import sys
from datetime import datetime
from pathlib import Path

PROTOC, RUN = sys.argv[1], Path(sys.argv[2])
PROTO = Path(__file__).with_name("event.proto")


def check(condition, *what):
    if not condition:
        sys.exit("check_events.py: " + " ".join(str(part) for part in what))


def crc32c(data):
    """Bit by bit, by the polynomial's definition: not as the program does it."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 * (crc & 1))
    return crc ^ 0xFFFFFFFF


def masked(data):
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def records(path):
    data, at = path.read_bytes(), 0
    while at < len(data):
        (length,) = struct.unpack_from("<Q", data, at)
        check(masked(data[at : at + 8]) == struct.unpack_from("<I", data, at + 8)[0], path, "length's checksum at", at)
        payload = data[at + 12 : at + 12 + length]
        check(len(payload) == length, path, "is cut off at", at)
        check(masked(payload) == struct.unpack_from("<I", data, at + 12 + length)[0], path, "checksum at", at)
        yield payload
        at += 16 + length


def varint(value):
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out + bytes([value]))


def events(path):
    """The events as protoc prints them, each a text of lines `name: value`."""
    wrapped = b"".join(b"\x0a" + varint(len(payload)) + payload for payload in records(path))
    text = subprocess.run(
        [PROTOC, f"--proto_path={PROTO.parent}", "--decode=tensorboard.Events", PROTO.name],
        input=wrapped, capture_output=True, check=True).stdout.decode()
    check(not re.search(r"^\s*\d+:", text, re.MULTILINE), "a field that event.proto does not know:", text[:300])
    return text.split("\nevent {")


def number(name, text, default="0"):
    found = re.search(rf"^\s*{name}: (\S+)$", text, re.MULTILINE)
    return float(found[1] if found else default)


def read_run():
    """(tag, step) -> (value, wall time), as TensorBoard has it: a start drops what came before of its step and later."""
    scalars, starts = {}, []
    for path in sorted((RUN / "tensorboard").iterdir()):
        first, *rest = events(path)
        check('file_version: "brain.Event:2"' in first, path, "begins with", first)
        for event in rest:
            step = int(number("step", event))
            if "status: START" in event:
                starts.append(step)
                scalars = {key: value for key, value in scalars.items() if key[1] < step}
            for value in re.findall(r"value \{(.*?)\}", event, re.DOTALL):
                tag = re.search(r'tag: "([^"]+)"', value)[1]
                scalars[tag, step] = (number("simple_value", value), number("wall_time", event))
    return scalars, starts


def as_float32(value):
    return struct.unpack("f", struct.pack("f", value))[0]


def near(a, b):
    return abs(a - b) <= 2e-6 * max(abs(a), abs(b))  # protoc prints the fewest digits of a float


def same(scalars, tag, step, expected, line):
    if expected is None:
        return check((tag, step) not in scalars, tag, "of step", step, "should not be there")
    check((tag, step) in scalars, "no", tag, "of step", step)
    value, wall_time = scalars.pop((tag, step))
    check(near(value, as_float32(expected)), tag, "of step", step, "is", value, "not", expected)
    time = datetime.strptime(line["time"], "%Y-%m-%dT%H:%M:%S.%fZ").timestamp() - datetime.fromtimestamp(0).timestamp()
    offset = time - wall_time
    check(abs(offset) < 0.0011, tag, "of step", step, "is of", wall_time, "not", line["time"])


def lines(name):
    return [json.loads(line) for line in (RUN / name).read_text(encoding="utf-8").splitlines()]


def compare(scalars):
    steps = lines("events.jsonl")
    for line in steps:
        expected = {"train/loss": "loss", "train/accuracy": "accuracy", "train/learning_rate": "lr",
                    "train/loss_scale": "loss_scale", "train/gradient_norm": "gradient_norm", "train/drift": "drift",
                    "train/round_bytes": "round_bytes", "throughput/mfu": "mfu", "time/step_seconds": "seconds",
                    "time/data_wait_seconds": "data_wait_seconds", "time/compute_seconds": "compute_seconds",
                    "time/collective_seconds": "collective_seconds",
                    "time/optimizer_seconds": "optimizer_seconds"}
        for tag, key in expected.items():
            same(scalars, tag, line["step"], line.get(key), line)
        same(scalars, "throughput/samples_per_second", line["step"], line["samples"] / line["seconds"], line)
    for line in lines("epochs.jsonl"):
        last = max(step["step"] for step in steps if step["epoch"] == line["epoch"])
        expected = {"epoch/train_loss": "train_loss", "epoch/train_accuracy": "train_accuracy",
                    "epoch/seconds": "seconds", "test/loss": "test_loss", "test/accuracy": "test_accuracy"}
        for tag, key in expected.items():
            same(scalars, tag, last, line[key], line)
    memory = {tag for tag, _ in scalars}
    check(memory and all(re.fullmatch(r"memory/rank_\d+_peak_bytes", tag) for tag in memory), "left over:", memory)
    check(all(value > 0 for value, _ in scalars.values()), "no memory is used")


def compare_with_tensorboard(scalars):
    try:
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    except ImportError:
        return "TensorBoard is not installed"
    reader = EventAccumulator(str(RUN / "tensorboard"), size_guidance={"scalars": 0})
    reader.Reload()
    theirs = {(tag, point.step): point.value for tag in reader.Tags()["scalars"] for point in reader.Scalars(tag)}
    check(theirs.keys() == scalars.keys(), "TensorBoard reads others:", theirs.keys() ^ scalars.keys())
    for key, value in theirs.items():
        check(near(value, scalars[key][0]), "TensorBoard reads", value, "of", key)
    return "TensorBoard reads the same"


check(crc32c(b"123456789") == 0xE3069283, "this program's own checksum is wrong")  # RFC 3720's check value
scalars, starts = read_run()
count, verdict = len(scalars), compare_with_tensorboard(scalars)
compare(scalars)
print(f"{count} scalars, starts {starts}; {verdict}")
