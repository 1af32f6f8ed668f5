"""Checks an OpenAPI document by the rules of its specification, and its examples by its schemas.

Usage: check_description.py FILE
Prints how many examples there are; ends with 1 and the faults if there are any.
"""

import json
import sys

from jsonschema import Draft202012Validator
from openapi_spec_validator import OpenAPIV31SpecValidator


def places(value, path=""):
    """Every object of the document with its place."""
    if isinstance(value, dict):
        yield path, value
        for key, inner in value.items():
            yield from places(inner, f"{path}/{key}")
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from places(inner, f"{path}/{index}")


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        document = json.load(file)
    faults = [f"{list(e.absolute_path)}: {e.message}" for e in OpenAPIV31SpecValidator(document).iter_errors()]
    checked = 0
    for path, value in places(document):
        if "schema" not in value:
            continue
        examples = [e["value"] for e in value.get("examples", {}).values()]
        if "example" in value:
            examples.append(value["example"])
        schema = dict(value["schema"], components=document["components"])
        validator = Draft202012Validator(schema, format_checker=Draft202012Validator.FORMAT_CHECKER)
        for example in examples:
            checked += 1
            faults += [f"{path}: {error.message}" for error in validator.iter_errors(example)]
    print("\n".join(faults) or f"{checked} examples")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
