"""Writes agent_files/_sync/, which is agent_files/_async/ without `async` and `await`, and
_sync_mesh/ of _async_mesh/.

python3 write_sync.py           writes it
python3 write_sync.py --check   exits with 1 if it is not up to date
"""

import pathlib
import re
import sys

HERE = pathlib.Path(__file__).parent / "agent_files"

# The files, and the mesh.
ROOMS = ["", "_mesh"]

# In this order. They also apply to docstrings.
CHANGES = [
    (r"AsyncGenerator\[(.*), None\]", r"Generator[\1, None, None]"),
    (r"\basync (def|for|with)\b", r"\1"),
    (r"(?<!\w)\(await ([\w.]+\(\))\)", r"\1"),
    (r"\bawait \((.*)\)$", r"\1"),
    (r"\bawait ", ""),
    (r"\bAwaitable\[(\w+)\]", r"\1"),
    (r"\basynccontextmanager\b", "contextmanager"),
    (r"\basynchronous\b", "blocking"),
    (r"\b(_?)a(closing|close|read|iter_raw)\b", r"\1\2"),
    (r"\b__a(enter|exit|iter|next)__\b", r"__\1__"),
    (r"\bStopAsyncIteration\b", "StopIteration"),
    (r"\bAsync([A-Z]\w+)\b", r"\1"),
    (r"\b_async(_mesh)?\b", r"_sync\1"),
    (r"`async (with|for)`", r"`\1`"),
]


def sync_source(source: str, room: str) -> str:
    head = f"# Made by write_sync.py of the file of the same name in _async{room}.\n"
    lines = source.split("\n")
    for change, by in CHANGES:
        lines = [re.sub(change, by, line) for line in lines]
    text = "\n".join(lines)
    return head + re.sub(r"import (.*\b)Awaitable, (.*)", r"import \1\2", text)


def main() -> int:
    written = {
        HERE / f"_sync{room}" / path.name: sync_source(path.read_text(), room)
        for room in ROOMS
        for path in sorted((HERE / f"_async{room}").glob("*.py"))
    }
    there = {
        path: path.read_text() for room in ROOMS for path in (HERE / f"_sync{room}").glob("*.py")
    }
    if "--check" in sys.argv:
        return int(there != written)
    for path in set(there) - set(written):
        path.unlink()
    for path, text in written.items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
