# SPDX-License-Identifier: Apache-2.0
"""Hold JSON documents against a JSON schema: schema.py [--strict] SCHEMA DOCUMENT...

The part of draft 2020-12 that docs/report.schema.json uses; a keyword that is not known here is an
error. --strict: a field that the schema does not name is one too, so that nothing is undocumented.
"""
import json
import re
import sys
from typing import Any, Iterator

TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
NOTES = {"$schema", "$defs", "title", "description"}
KNOWN = NOTES | {"$ref", "anyOf", "type", "enum", "required", "properties", "additionalProperties",
                 "items", "minItems", "maxItems", "minimum", "maximum", "pattern"}


def is_type(value: Any, name: str) -> bool:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if name == "number":
        return number
    if name == "integer":
        return number and value == int(value)
    return isinstance(value, TYPES[name])


class Schema:
    def __init__(self, root: dict, strict: bool):
        self.root, self.strict = root, strict

    def errors(self, value: Any, rule: dict, at: str) -> Iterator[str]:
        unknown = set(rule) - KNOWN
        if unknown:
            raise SystemExit(f"schema.py: keyword not known here: {sorted(unknown)}")
        if "$ref" in rule:
            yield from self.errors(value, self.root["$defs"][rule["$ref"].split("/")[-1]], at)
        if "anyOf" in rule:
            tries = [list(self.errors(value, one, at)) for one in rule["anyOf"]]
            if all(tries):
                yield from min(tries, key=len)
        types = rule.get("type")
        types = [types] if isinstance(types, str) else types
        if types and not any(is_type(value, name) for name in types):
            yield f"{at}: {json.dumps(value)[:60]} is not of type {types}"
            return
        if "enum" in rule and value not in rule["enum"]:
            yield f"{at}: {json.dumps(value)[:60]} is not one of {rule['enum']}"
        if isinstance(value, dict):
            yield from self.fields(value, rule, at)
        elif isinstance(value, list):
            yield from self.elements(value, rule, at)
        elif isinstance(value, str):
            if not re.search(rule.get("pattern", ""), value):
                yield f"{at}: {value[:60]!r} does not match {rule['pattern']}"
        elif is_type(value, "number"):
            if value < rule.get("minimum", value) or value > rule.get("maximum", value):
                yield f"{at}: {value} is out of range"

    def fields(self, value: dict, rule: dict, at: str) -> Iterator[str]:
        known, other = rule.get("properties", {}), rule.get("additionalProperties")
        for name in rule.get("required", []):
            if name not in value:
                yield f"{at}.{name}: missing"
        for name, child in value.items():
            if name in known:
                yield from self.errors(child, known[name], f"{at}.{name}")
            elif other:
                yield from self.errors(child, other, f"{at}.{name}")
            elif self.strict and known:
                yield f"{at}.{name}: not in the schema"

    def elements(self, value: list, rule: dict, at: str) -> Iterator[str]:
        if not rule.get("minItems", 0) <= len(value) <= rule.get("maxItems", len(value)):
            yield f"{at}: {len(value)} elements"
        for i, child in enumerate(value):
            yield from self.errors(child, rule.get("items", {}), f"{at}[{i}]")


def main() -> int:
    arguments = [a for a in sys.argv[1:] if a != "--strict"]
    with open(arguments[0], encoding="utf-8") as file:
        root = json.load(file)
    schema, found = Schema(root, "--strict" in sys.argv), 0
    for path in arguments[1:]:
        with open(path, encoding="utf-8") as file:
            for error in schema.errors(json.load(file), root, "$"):
                print(f"{path}: {error}")
                found += 1
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
