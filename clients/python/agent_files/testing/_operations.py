"""The operations of the service in this process. `agent` is the caller."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from .. import models
from .._names import AGENT_ID, broken_key_rule
from ._state import Refusal, State, check, check_range, iso, new_id, page, seconds_of

if TYPE_CHECKING:
    from .._types import Json

_DAY_SECONDS = 86_400
_OF_A_GRANT = ("grant_id", "token", "artifact_id", "to_agent", "expires_at")
# What everybody who may have the bytes sees of a file.
_OF_A_FILE = tuple(models.Content.__annotations__)


class Operations(State):
    """The method of a path has its name, with `_` for `/`."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self._url = url

    def register(self, agent: str, request: Json) -> Json:
        rule = broken_key_rule(request["key"])
        check(rule is None, "key", rule or "")
        check_range(request["size"], "size", 0, 50 * 1024**2)
        check_range(request["ttl_days"], "ttl_days", 1, 365)
        file: Json = {
            **dict.fromkeys(models.Artifact.__annotations__),
            "artifact_id": new_id("art_"),
            "metadata": {},
            **request,
            "agent_id": agent,
            "state": "pending",
            "created_at": iso(self.now()),
        }
        self.files[file["artifact_id"]] = file
        upload = {"upload_expires_at": iso(self.now() + _DAY_SECONDS)}
        return {**file, "upload_url": self._url_of(file), **upload}

    def commit(self, agent: str, request: Json) -> Json:
        file, sha256 = self.own_file(agent, request["artifact_id"]), request["sha256"].lower()
        if file["state"] == "deleted":
            raise Refusal("artifact_expired")
        if file["state"] != "pending":
            if file["sha256"] != sha256:
                raise Refusal("already_committed")
            return file
        content = self.contents.get(file["artifact_id"])
        if content is None:
            raise Refusal("upload_missing")
        is_size = len(content) == file["size"]
        if not is_size or hashlib.sha256(content).hexdigest() != sha256:
            del self.contents[file["artifact_id"]]
            raise Refusal("checksum_mismatch" if is_size else "size_mismatch")
        older, now = self.versions(agent, file["key"]), self.now()
        for one in older:
            if one["state"] == "committed":
                one["state"] = "superseded"
        version = older[0]["version"] + 1 if older else 1
        file.update(state="committed", sha256=sha256, version=version, committed_at=iso(now))
        file["expires_at"] = iso(now + file["ttl_days"] * _DAY_SECONDS)
        return file

    def open(self, agent: str, request: Json) -> Json:
        if "key" in request:
            version = request.get("version")
            found = [
                file
                for file in self.versions(request.get("agent_id", agent), request["key"])
                if (file["state"] == "committed" if version is None else file["version"] == version)
            ]
        else:
            found = [file for file in [self.files.get(request["artifact_id"])] if file]
        if not found:
            raise Refusal("artifact_not_found")
        file = found[0]
        if file["agent_id"] == agent:
            if file["state"] == "pending":
                raise Refusal("artifact_not_committed")
            if not self.is_file_live(file):
                raise Refusal("artifact_expired")
            return self._download(file)
        live = self.live_to(agent, file)
        if not live:
            raise Refusal("artifact_not_found")
        self._count_download(min(live, key=lambda grant: grant["max_downloads"] is not None))
        return self._download(file)

    def list(self, agent: str, request: Json) -> Json:
        current = [
            file
            for file in self.files.values()
            if file["agent_id"] == agent
            and file["state"] == "committed"
            and file["key"].startswith(request.get("prefix", ""))
            and self.is_file_live(file)
        ]
        return page("artifacts", sorted(current, key=lambda file: file["key"].encode()), request)

    def versions_(self, agent: str, request: Json) -> Json:
        owner = request.get("agent_id", agent)
        found = [
            file
            for file in self.versions(owner, request["key"])
            if self.is_file_live(file) and (owner == agent or self.live_to(agent, file))
        ]
        return page("versions", found, request)

    def delete(self, agent: str, request: Json) -> Json:
        file = self.own_file(agent, request["artifact_id"])
        file["state"] = "deleted"
        return file

    def grant(self, agent: str, request: Json) -> Json:
        file = self.own_file(agent, request["artifact_id"])
        name = (agent, request.get("idempotency_key", new_id("")))
        if (repeated := self.hand_overs.get(name)) is not None:
            said, known = repeated
            if said != request:
                raise Refusal("idempotency_conflict")
            return {**_granted(known), "token": None, "repeated": True}
        if file["state"] == "pending":
            raise Refusal("artifact_not_committed")
        if not self.is_file_live(file):
            raise Refusal("artifact_expired")
        to_agent, reply_to = request.get("to_agent"), request.get("reply_to")
        is_agent = to_agent is None or AGENT_ID.fullmatch(to_agent) is not None
        check(is_agent, "to_agent", "Cannot be an agent.")
        until = seconds_of(request["expires_at"])
        check(until > self.now(), "expires_at", "Must lie in the future.")
        if reply_to is not None and not any(
            one["grant_id"] == reply_to and agent in (one["_from_agent"], one["to_agent"])
            for one in self.grants
        ):
            raise Refusal("grant_not_found")
        is_unknown = to_agent is not None and to_agent not in self.keys.values()
        is_known = not is_unknown or not request.get("known_only")
        check(is_known, "to_agent", "Nobody has had this name so far.")
        state, attempt = ("waiting", 0) if to_agent else (None, None)
        grant: Json = {
            "grant_id": new_id("grant_"),
            "token": f"g_{new_id('')}{new_id('')[:11]}",
            "artifact_id": file["artifact_id"],
            "key": file["key"],
            "to_agent": to_agent,
            "granted_at": iso(self.now()),
            "expires_at": iso(until),
            "max_downloads": request.get("max_downloads"),
            "downloads": 0,
            "note": request.get("note"),
            "deliver": "each" if to_agent else None,
            "state": state,
            "attempt": attempt,
            "shown_at": None,
            "done_at": None,
            "reason": None,
            "reply_grant_id": None,
            "tasks": None,
            "_file": file,
            "_from_agent": agent,
            "_reply_to": reply_to,
            "_max_attempts": request.get("max_attempts", 5),
            "_is_revoked": False,
            # When it began to wait last, and when its pause or its take ends.
            "_position": self.next_position(),
            "_ready_at": self.now(),
            # The last take, and whose it is.
            "_take_id": None,
            "_taker": None,
        }
        self.grants.append(grant)
        if "idempotency_key" in request:
            self.hand_overs[name] = request, grant
        return {**_granted(grant), **({"unknown_recipient": True} if is_unknown else {})}

    def revoke(self, agent: str, request: Json) -> Json:
        if "grant_id" not in request:
            self.own_file(agent, request["artifact_id"])
        ended = [
            grant
            for grant in self.grants
            if grant["_from_agent"] == agent
            and self.is_live(grant)
            and all(grant[name] == value for name, value in request.items())
        ]
        for grant in ended:
            grant["_is_revoked"] = True
        return {"revoked": len(ended), "grant_ids": [grant["grant_id"] for grant in ended]}

    def fetch(self, _agent: str, request: Json) -> Json:
        found = [grant for grant in self.grants if grant["token"] == request["grant_token"]]
        if not found:
            raise Refusal("grant_not_found")
        self.refuse_ended(found[0])
        self._count_download(found[0])
        return self._download(found[0]["_file"])

    def grants_(self, agent: str, request: Json) -> Json:
        names = {"artifact_id", "to_agent"} & request.keys()
        given: list[Json] = []
        for grant in self.grants:
            is_named = all(grant[name] == request[name] for name in names)
            if grant["_from_agent"] == agent and self.is_live(grant) and is_named:
                state = self.state_of(grant) if grant["to_agent"] else None
                taker = grant["_taker"] if state in ("taken", "done") else None
                until = iso(grant["_ready_at"]) if state == "taken" else None
                given.append({**grant, "state": state, "taken_by": taker, "taken_until": until})
                del given[-1]["token"]
        return page("grants", sorted(given, key=lambda one: one["expires_at"]), request)

    def inbox(self, agent: str, request: Json) -> Json:
        after = int(request.get("after", "testing:0").partition(":")[2])
        found = [
            grant
            for grant in self.grants
            if grant["to_agent"] == agent
            and grant["_position"] > after
            and self.is_live(grant)
            and request.get("from_agent", grant["_from_agent"]) == grant["_from_agent"]
            and self.state_of(grant) in request.get("states", ("waiting", "taken"))
        ]
        for grant in found:
            grant["shown_at"] = grant["shown_at"] or iso(self.now())
        entries = [self.entry(grant) for grant in sorted(found, key=lambda one: -one["_position"])]
        return {**page("grants", entries, request), "latest": f"testing:{self.position}"}

    def wait(self, agent: str, request: Json) -> Json:
        news = self.inbox(agent, {"after": request["inbox_after"], "states": ("waiting",)})
        inbox = {"changed": bool(news["grants"]), "latest": news["latest"]}
        return {"inbox": inbox, "heartbeat_interval_seconds": 30}

    def whoami(self, agent: str, _request: Json) -> Json:
        caller: Json = {"kind": "agent", "agent_id": agent, "tags": []}
        return {**caller, "key_id": None, "expires_at": None}

    def entry(self, grant: Json) -> Json:
        """A grant as its grantee sees it."""
        file, state = grant["_file"], self.state_of(grant)
        names = ("grant_id", "granted_at", "expires_at", "note", "deliver", "attempt")
        is_paused = state == "waiting" and grant["_ready_at"] > self.now()
        return {
            **{name: file[name] for name in _OF_A_FILE},
            **{name: grant[name] for name in names},
            "from_agent": grant["_from_agent"],
            "reply_to": grant["_reply_to"],
            "state": state,
            "superseded": file["state"] == "superseded",
            "next_at": iso(grant["_ready_at"]) if is_paused else None,
        }

    def _count_download(self, grant: Json) -> None:
        if grant["downloads"] == grant["max_downloads"]:
            raise Refusal("grant_used_up")
        grant["downloads"] += 1

    def _download(self, file: Json) -> Json:
        about = {name: file[name] for name in _OF_A_FILE}
        return {**about, "url": self._url_of(file), "expires_at": iso(self.now() + 60)}

    def _url_of(self, file: Json) -> str:
        return f"{self._url}/storage/{file['artifact_id']}"


def _granted(grant: Json) -> Json:
    return {name: grant[name] for name in _OF_A_GRANT}
