"""What a .gitignore and patterns leave out. The TypeScript client has the same rules:
packages/agent-files/folders/patterns.ts."""

from __future__ import annotations

import os
import re
import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

# The patterns of one place, such as a .gitignore, and its folder, as segments below the top. A
# pattern is (path, is negated, is for folders).
Patterns = tuple[list[str], "list[tuple[re.Pattern[str], bool, bool]]"]

_GLOB = re.compile(
    r"(?P<start>^\*\*/)|(?P<end>/\*\*\Z)|(?P<middle>/(?:\*\*/)+)|(?P<star>\*+)|(?P<one>\?)"
    r"|(?P<set>\[[!^]?\]?(?:\\.|\[:\w+:\]|[^\]\\])*\])|\\(?P<escaped>.)|(?P<literal>.)",
    re.S,
)
_GLOB_SOURCES = {
    "start": "(?:.*/)?",
    "end": "/.+",
    "middle": "/(?:.*/)?",
    "star": "[^/]*",
    "one": "[^/]",
}
_MOST_PATTERN_BYTES = 1024**2
_GLOB_CLASSES = {
    "alnum": "A-Za-z0-9",
    "alpha": "A-Za-z",
    "digit": "0-9",
    "lower": "a-z",
    "upper": "A-Z",
    "space": r"\s",
    "punct": r"!-\/:-@\[-`\{-~",
    "xdigit": "0-9A-Fa-f",
}


def parse_patterns(lines: Sequence[str]) -> list[tuple[re.Pattern[str], bool, bool]]:
    """Reads lines as gitignore(5) describes them. The TypeScript client has the same rules:
    packages/agent-files/folders/patterns.ts."""
    patterns: list[tuple[re.Pattern[str], bool, bool]] = []
    for line in lines:
        glob = re.sub(r"(?<!\\) +\Z", "", re.sub(r"\r\Z", "", line))
        if glob == "" or glob.startswith("#"):
            continue
        is_negated = glob.startswith("!")
        glob = glob[1:] if is_negated else glob
        is_for_folders = glob.endswith("/")
        glob = glob[:-1] if is_for_folders else glob
        source = _glob_source(re.sub("^/", "", glob))
        if source is not None:
            anywhere = "" if "/" in glob else "(?:.*/)?"
            pattern = re.compile(f"{anywhere}{source}", re.S)
            patterns.append((pattern, is_negated, is_for_folders))
    return patterns


def _glob_source(glob: str) -> str | None:
    """The source of the regular expression; None if the glob matches nothing."""
    if glob == "" or re.search(r"(?<!\\)(?:\\\\)*\\\Z", glob):
        return None
    parts: list[str] = []
    for match in _GLOB.finditer(glob):
        kind, text = match.lastgroup or "", match.group(match.lastgroup or 0)
        if kind == "set":
            members = _set_members(text[2 if text[1] in "!^" else 1 : -1])
            if members is None:
                return None
            parts.append(f"(?!/)[{'^' if text[1] in '!^' else ''}{members}]")
        elif kind == "literal" and text == "[":
            return None
        else:
            parts.append(_GLOB_SOURCES.get(kind) or re.escape(text))
    return _joined_glob(parts)


def _joined_glob(parts: list[str]) -> str:
    """The parts as one source. If another star follows in the same name, a star takes the first
    match of what is between the two, and no other one is tried: that could take years."""
    star = _GLOB_SOURCES["star"]
    source, piece, stars, is_last = "", "", 0, True
    for part in reversed(parts):
        if part != star:
            piece = part + piece
            if "/" in part and not part.startswith(("[", "(?!")):
                source, piece, is_last = piece + source, "", True
            continue
        if is_last:
            source = star + piece + source
        else:
            stars += 1
            source = f"(?=(?P<s{stars}>[^/]*?{piece}))(?P=s{stars}){source}"
        piece, is_last = "", False
    return piece + source


def _set_members(content: str) -> str | None:
    """None if the set matches nothing."""
    members = ""
    for part in re.finditer(r"\[:(\w+):\]|\\?(.)-\\?(.)|\\?(.)", content, re.S):
        name, first, last, only = part.groups()
        if name is not None:
            if name not in _GLOB_CLASSES:
                return None
            members += _GLOB_CLASSES[name]
        elif last is None:
            members += re.escape(only)
        # Git matches the first letter of a range that is the wrong way round.
        elif first > last:
            members += re.escape(first)
        else:
            members += f"{re.escape(first)}-{re.escape(last)}"
    return members


def is_excluded(places: list[Patterns], segments: list[str], is_folder: bool) -> bool:
    """The last pattern that matches decides, and later places decide before earlier ones."""
    for folder, patterns in reversed(places):
        if segments[: len(folder)] == folder:
            path = "/".join(segments[len(folder) :])
            for pattern, is_negated, is_for_folders in reversed(patterns):
                if (is_folder or not is_for_folders) and pattern.fullmatch(path):
                    return not is_negated
    return False


def patterns_around(folder: str) -> tuple[list[str], list[Patterns]]:
    """The folder's path below the top of its git repository, and the patterns outside it that
    apply to it."""
    top = folder
    while not os.path.lexists(os.path.join(top, ".git")):
        if os.path.dirname(top) == top:
            return [], []
        top = os.path.dirname(top)
    segments = [name for name in os.path.relpath(folder, top).split(os.sep) if name != "."]
    exclude = _lines_of(os.path.join(top, ".git", "info", "exclude"))
    places: list[Patterns] = [([], parse_patterns(exclude))]
    for depth in range(len(segments)):
        above = segments[:depth]
        places = with_gitignore(places, os.path.join(top, *above), above)
    return segments, places


def with_gitignore(places: list[Patterns], folder: str, segments: list[str]) -> list[Patterns]:
    lines = _lines_of(os.path.join(folder, ".gitignore"))
    return [*places, (segments, parse_patterns(lines))] if lines else places


def _lines_of(path: str) -> list[str]:
    """Like git, ignores a link. Raises OSError for a file that cannot be read."""
    try:
        state = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return []
    if not stat.S_ISREG(state.st_mode):
        return []
    if state.st_size > _MOST_PATTERN_BYTES:
        raise OSError(f"{path} has more than {_MOST_PATTERN_BYTES} bytes")
    with open(path, encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
        return file.read().split("\n")
