"""A hook of schemathesis: a request that may wait, waits for a second at most."""

import schemathesis

LONGEST = 140


@schemathesis.hook
def before_call(context, case, kwargs):
    body = case.body
    seconds = body.get("wait_seconds") if isinstance(body, dict) else None
    # What the service refuses stays as it is.
    if isinstance(seconds, (int, float)) and 1 < seconds <= LONGEST:
        body["wait_seconds"] = 1
