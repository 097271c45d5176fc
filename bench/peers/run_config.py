"""The config of a run, as `troupe config show` writes it: a key in each line, below its sections."""
import pathlib


def read(path):
    """Texts of values by whole keys, as "train.optimizer.lr"."""
    values, sections = {}, []
    for line in pathlib.Path(path).read_text().splitlines():
        name, _, value = line.strip().partition(":")
        del sections[(len(line) - len(line.lstrip())) // 2 :]
        sections.append(name)
        if value:
            values[".".join(sections)] = value.strip().strip('"')
    return values
