"""Reads the files of a checkpoint (docs/checkpoints.md): the bytes of each tensor, whole or assembled from ranks' shards."""
import json
import pathlib


def newest(run):
    found = sorted(pathlib.Path(run, "checkpoints").glob("step-?????????/checkpoint.json"))
    return found[-1].parent if found else None


def tensors_of(path):
    """Yields name, first element and bytes of each tensor of a safetensors file."""
    raw = path.read_bytes()
    begin = 8 + int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8:begin])
    said = header.pop("__metadata__", {})
    for name, entry in header.items():
        part = said.get(f"part {name}")  # SHAPE FIRST of STORED LAYOUT
        first, last = entry["data_offsets"]
        yield name, int(part.split()[1]) if part else 0, raw[begin + first : begin + last]


def read(checkpoint):
    """Returns the bytes of each tensor in the device's layout, and the metadata that a resumed run uses."""
    parts = {}
    manifest = json.loads((checkpoint / "checkpoint.json").read_text())
    for file in manifest["files"]:
        for name, first, values in tensors_of(checkpoint / file["name"]):
            parts.setdefault(name, []).append((first, values))
    tensors = {name: b"".join(values for _, values in sorted(found)) for name, found in parts.items()}
    return {**tensors, "step": manifest["step"], "loss scale": manifest["metadata"].get("loss_scale")}


def differences(one, other):
    return sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))
