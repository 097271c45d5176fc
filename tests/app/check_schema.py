"""check_schema.py TROUPE: `troupe config schema` is a valid JSON schema of draft 2020-12.

Exit code 77, which ctest shows as skipped, where python3-jsonschema is not installed.
"""
import json
import subprocess
import sys

try:
    from jsonschema import Draft202012Validator
except ImportError:
    print("skipped: no jsonschema module of version 4 or later (Debian: python3-jsonschema)")
    sys.exit(77)

printed = subprocess.run([sys.argv[1], "config", "schema"], check=True, capture_output=True, text=True)
schema = json.loads(printed.stdout)
Draft202012Validator.check_schema(schema)
validator = Draft202012Validator(schema)

good = {"run": {"name": "a"}, "train": {"optimizer": {"name": "sgd", "lr": 0.1}}, "data": None}
assert not list(validator.iter_errors(good))
for bad in (
    {"runs": {}},
    {"run": {"nmae": "a"}},
    {"run": {"name": 3}},
    {"train": {"optimizer": {"lr": 0}}},
    {"data": {"augment": ["crob"]}},
    {"checkpoint": {"every": "1 week"}},
):
    assert list(validator.iter_errors(bad)), bad
