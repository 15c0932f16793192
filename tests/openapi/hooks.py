"""Hooks of schemathesis: how long its requests wait, and which of them follow on each other."""

import os

import schemathesis

LONGEST = 140
# What an answer names, and the next request may take.
NAMES = {"artifact_id", "grant_id", "standing_id", "config_version"}
NAMES |= {"from_agent", "to_agent", "port"}


@schemathesis.hook
def before_call(context, case, kwargs):
    """A request that may wait, waits for a second at most."""
    body = case.body
    seconds = body.get("wait_seconds") if isinstance(body, dict) else None
    # What the service refuses stays as it is.
    if isinstance(seconds, (int, float)) and 1 < seconds <= LONGEST:
        body["wait_seconds"] = 1


@schemathesis.hook
def before_load_schema(context, raw_schema):
    """For the phase `stateful`: links each answer that has a name to every request that takes it.
    All requests are the agent's own: those in the name of somebody else find nothing."""
    if "STATEFUL" not in os.environ:
        return

    def parts_of(schema):
        """A schema, and those that it consists of."""
        if "$ref" in schema:
            *_, name = schema["$ref"].split("/")
            return parts_of(raw_schema["components"]["schemas"][name])
        inner = [part for kind in ("allOf", "anyOf", "oneOf") for part in schema.get(kind, [])]
        return [schema, *(found for part in inner for found in parts_of(part))]

    def fields_of(described):
        schema = described.get("content", {}).get("application/json", {}).get("schema", {})
        return [part["properties"] for part in parts_of(schema) if "properties" in part]

    posts = {path: item["post"] for path, item in raw_schema["paths"].items() if "post" in item}
    for operation in posts.values():
        for fields in fields_of(operation.get("requestBody", {})):
            fields.pop("agent_id", None)
    for path, operation in posts.items():
        answer = operation["responses"].get("200", {})
        told = NAMES & set().union(*fields_of(answer))
        for other, following in posts.items():
            taken = sorted(told & set().union(*fields_of(following.get("requestBody", {}))))
            if taken and other != path:
                answer.setdefault("links", {})[other] = {
                    "operationId": following["operationId"],
                    "requestBody": {name: f"$response.body#/{name}" for name in taken},
                }
