"""The types of arguments that several methods take."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias, TypedDict

from . import models

if TYPE_CHECKING:
    import os

Json: TypeAlias = dict[str, Any]

#: Is called with the phase (`upload`, `verify`, `download`), the bytes so far, and the size.
Progress: TypeAlias = Callable[[str, int, int], None]

#: An agent key, a user's token, or a function that returns it.
Key: TypeAlias = str | Callable[[], str]

#: A proof of origin: see `AgentFiles`.
Enrol: TypeAlias = Mapping[str, "str | Callable[[], str] | os.PathLike[str] | None"]

Path: TypeAlias = "str | os.PathLike[str]"


#: What answers a task: new content, or one of the agent's files.
Reply: TypeAlias = "str | bytes | os.PathLike[str] | BinaryIO | Mapping[str, Any]"


class Link(models.Grant):
    """A grant to anyone who has its URL."""

    url: str


class PutArtifact(models.Artifact):
    """A committed artifact, with the grants that were made of it."""

    grants: list[models.Grant]


class FolderEntry(TypedDict):
    name: str
    size: int


class LeftOut(TypedDict):
    name: str
    kind: str


class PutFolder(PutArtifact):
    entries: list[FolderEntry]
    left_out: list[LeftOut]
    hidden: list[str]


class Got(models.Content):
    """The metadata of a file that was downloaded."""


class GotFolder(Got):
    #: The number of files and folders.
    entries: int
