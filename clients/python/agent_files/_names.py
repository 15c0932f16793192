"""The forms of names and identifiers."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

from .errors import AgentError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ARTIFACT_ID = re.compile(r"art_[0-9a-f]{32}")
GRANT_TOKEN = re.compile(r"g_[A-Za-z0-9_-]{43}")
_MOST_KEY_BYTES = 1024
AGENT_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}")
_AGENT_ID_RULE = "Must be 1 to 128 of A-Z a-z 0-9 . _ : @ - and begin with a letter or digit."
_TAG = re.compile(r"tag:[a-z0-9][a-z0-9-]{0,62}")
_TAG_RULE = "Must be tag: and 1 to 63 of a-z 0-9 - that begin with a letter or digit."


def check_names(key: str, to: Sequence[str], to_tags: Sequence[str]) -> None:
    """Checks before anything is sent: a file that nobody can get would count against limits."""
    rule = broken_key_rule(key)
    issues = [] if rule is None else [("key", rule)]
    for field, names, form, rule in (
        ("to", to, AGENT_ID, _AGENT_ID_RULE),
        ("to_tags", to_tags, _TAG, _TAG_RULE),
    ):
        if isinstance(names, str):
            what = "agents" if field == "to" else "tags"
            issues.append((field, f"Must be a list of {what}."))
        else:
            issues += [
                (f"{field}.{index}", rule)
                for index, name in enumerate(names)
                if not form.fullmatch(name)
            ]
    if issues:
        raise invalid_request(issues)


def broken_key_rule(key: str) -> str | None:
    """The rule that a file's name breaks, as a sentence."""
    # A lone surrogate counts as three bytes here, and is refused below.
    length = len(key.encode("utf-8", "surrogatepass"))
    if not 1 <= length <= _MOST_KEY_BYTES:
        return f"Must have 1 to {_MOST_KEY_BYTES} bytes, and has {length}."
    if any(letter == "\\" or unicodedata.category(letter) in ("Cc", "Cs") for letter in key):
        return "Must not contain control characters, backslashes or lone surrogates."
    if any(segment in ("", ".", "..") for segment in key.split("/")):
        return "Must not begin or end with /, nor have an empty, . or .. segment."
    return None


def check_terms(
    terms: Mapping[str, object],
    deliver: str | None,
    idempotency_key: str | None,
    to: Sequence[str],
    to_tags: Sequence[str],
) -> None:
    """Checks what `put` says about its grants, before anything is sent."""
    issues: list[tuple[str, str]] = []
    if deliver == "one" and not to_tags:
        issues.append(("deliver", "Needs a tag in to_tags, unless it is each."))
    if idempotency_key is not None and len(to) + len(to_tags) != 1:
        issues.append(("idempotency_key", "Needs exactly one agent or tag."))
    if not to and not to_tags and any(value is not None for value in terms.values()):
        issues.append(("to", "Required for a note, reply_to or max_attempts."))
    if issues:
        raise invalid_request(issues)


def invalid_request(issues: Sequence[tuple[str, str]]) -> AgentError:
    """The error of wrong arguments, which the service would answer, too: the `path` of each and the
    rule that it breaks."""
    said = " ".join(f"{path}: {message}" for path, message in issues)
    details = {"issues": [{"path": path, "message": message} for path, message in issues]}
    return AgentError("invalid_request", said, details=details)
