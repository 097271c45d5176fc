# What Kubernetes takes in a manifest, by the models of its own client (Debian: python3-kubernetes).
import json
import re
from types import SimpleNamespace

from kubernetes import client

SIMPLE = {"str": str, "int": int, "bool": bool, "float": (int, float)}
# A model's name does not say its group.
KINDS = {("v1", "ConfigMap"), ("v1", "Service"), ("v1", "PersistentVolumeClaim"), ("apps/v1", "StatefulSet")}


def wrong_fields(value, kind, path):
    """What the API does not know, and what is of another type, as lines with their path."""
    if nested := re.fullmatch(r"list\[(.*)\]", kind):
        if not isinstance(value, list):
            return [f"{path}: no list"]
        return [line for i, item in enumerate(value) for line in wrong_fields(item, nested[1], f"{path}[{i}]")]
    if nested := re.fullmatch(r"dict\(str, (.*)\)", kind):
        if not isinstance(value, dict):
            return [f"{path}: no mapping"]
        return [line for name, item in value.items() for line in wrong_fields(item, nested[1], f"{path}.{name}")]
    if kind in SIMPLE:
        return [] if isinstance(value, SIMPLE[kind]) and not (kind == "int" and isinstance(value, bool)) else [f"{path}: {value!r} is no {kind}"]
    model = getattr(client.models, kind, None)
    if model is None:  # "object": a port's number or name
        return [] if isinstance(value, (int, str)) else [f"{path}: {value!r} is neither a number nor a name"]
    types = {name: model.openapi_types[attribute] for attribute, name in model.attribute_map.items()}
    if not isinstance(value, dict):
        return [f"{path}: no mapping"]
    return [line for name, item in value.items()
            for line in (wrong_fields(item, types[name], f"{path}.{name}") if name in types else [f"{path}.{name}: unknown"])]


def problems(manifest):
    kind = manifest.get("kind", "")
    if (manifest.get("apiVersion"), kind) not in KINDS:
        return [f"{manifest.get('apiVersion')} {kind}: not known here"]
    found = wrong_fields(manifest, f"V1{kind}", kind)
    try:  # the models refuse what lacks something that has to be there
        client.ApiClient().deserialize(SimpleNamespace(data=json.dumps(manifest)), f"V1{kind}")
    except ValueError as error:
        found.append(f"{kind}: {error}")
    return found
