#!/usr/bin/env python3
# grafana.py PROVISIONING: stands in for Grafana, which no Debian has: what it would read when it starts is there, and fits.
import json
import os
import re
import sys
from pathlib import Path

provisioning = Path(sys.argv[1])
source = (provisioning / "datasources/prometheus.yaml").read_text(encoding="utf-8")
provider = (provisioning / "dashboards/troupe.yaml").read_text(encoding="utf-8")
assert re.search(r"type: prometheus\b", source) and "url: http://127.0.0.1:9090" in source, source
folder = Path(os.path.expandvars(re.search(r"path: (\S+)", provider)[1]))
dashboards = [json.loads(file.read_text(encoding="utf-8")) for file in folder.glob("*.json")]
assert len(dashboards) == 4, f"{folder} has {len(dashboards)} dashboards"


def sources(part):
    """Every `datasource` in it, at any depth."""
    if isinstance(part, list):
        for item in part:
            yield from sources(item)
    elif isinstance(part, dict):
        yield from (part[key] for key in ("datasource",) if isinstance(part.get(key), dict))
        for value in part.values():
            yield from sources(value)


for dashboard in dashboards:
    # Chosen by a variable, which offers what is of this type.
    variables = {each["name"]: each for each in dashboard["templating"]["list"] if each["type"] == "datasource"}
    for used in sources(dashboard):
        name = used["uid"].strip("${}")
        assert used["type"] == "prometheus" and variables[name]["query"] == "prometheus", (dashboard["title"], used)
print(f"{len(dashboards)} dashboards in {folder}")
