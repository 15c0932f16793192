"""The operations on grants as work. `agent` is the caller."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ._operations import Operations
from ._state import Refusal, check, check_range, iso, new_id

if TYPE_CHECKING:
    from .._types import Json

_LONGEST_PAUSE_SECONDS = 3600


class Tasks(Operations):
    def inbox_take(self, agent: str, request: Json) -> Json:
        most, seconds = request.get("max", 1), request.get("seconds", 300)
        check_range(most, "max", 1, 50)
        check_range(seconds, "seconds", 30, 3600)
        now = self.now()
        ready = [
            grant
            for grant in self.grants
            if grant["to_agent"] == agent
            and self.is_live(grant)
            and self.state_of(grant) == "waiting"
            and grant["_ready_at"] <= now
            and grant["key"].startswith(request.get("prefix", ""))
            and request.get("from_agent", grant["_from_agent"]) == grant["_from_agent"]
        ]
        tasks: list[Json] = []
        for grant in sorted(ready, key=lambda one: (one["_ready_at"], one["_position"]))[:most]:
            until, take_id = now + seconds, new_id("take_")
            grant.update(state="taken", attempt=grant["attempt"] + 1, _ready_at=until)
            grant.update(_take_id=take_id, _taker=agent)
            grant["shown_at"] = grant["shown_at"] or iso(now)
            take = {"take_id": take_id, "taken_until": iso(until)}
            tasks.append({**take, **self.entry(grant)})
        return {"tasks": tasks}

    def inbox_extend(self, agent: str, request: Json) -> Json:
        check_range(request["seconds"], "seconds", 30, 3600)
        grant = self._held(agent, request["take_id"])
        grant["_ready_at"] = self.now() + request["seconds"]
        return {"take_id": request["take_id"], "taken_until": iso(grant["_ready_at"])}

    def inbox_done(self, agent: str, request: Json) -> Json:
        take_id, reply = request.get("take_id"), request.get("reply")
        check((take_id is None) != ("grant_id" not in request), "take_id", "Or grant_id.")
        if take_id is not None:
            grant = self._taken(agent, take_id)
        else:
            grant = self._given(request["grant_id"], "to_agent", agent)
        if grant["state"] != "done":
            self.refuse_ended(grant)
            if (self.state_of(grant) == "taken") != (take_id is not None):
                raise Refusal("take_lapsed")
            reply_grant_id = None if reply is None else self._reply(agent, grant, reply)
            grant.update(state="done", done_at=iso(self.now()), reason=None)
            grant.update(reply_grant_id=reply_grant_id, _take_id=take_id, _taker=agent)
        reply_id = grant["reply_grant_id"]
        answer = None if reply_id is None else {"grant_id": reply_id}
        return {"grant_id": grant["grant_id"], "state": "done", "reply": answer}

    def inbox_fail(self, agent: str, request: Json) -> Json:
        check(1 <= len(request["reason"]) <= 500, "reason", "Must be 1 to 500 characters.")
        grant = self._taken(agent, request["take_id"])
        if grant["state"] not in ("waiting", "parked"):
            self._held(agent, request["take_id"])
            is_interrupted = request.get("interrupted", False)
            is_last = grant["attempt"] >= grant["_max_attempts"] and not is_interrupted
            default = min(_LONGEST_PAUSE_SECONDS, 10 * 2 ** (grant["attempt"] - 1))
            pause = request.get("retry_after_seconds", 0 if is_interrupted else default)
            state = "parked" if request.get("final") or is_last else "waiting"
            if is_interrupted and state == "waiting":
                grant["attempt"] -= 1
            grant.update(state=state, reason=request["reason"])
            grant.update(_ready_at=self.now() + pause, _position=self.next_position())
        next_at = None if grant["state"] == "parked" else iso(grant["_ready_at"])
        return {"grant_id": grant["grant_id"], "state": grant["state"], "next_at": next_at}

    def inbox_requeue(self, agent: str, request: Json) -> Json:
        grant = self._given(request["grant_id"], "_from_agent", agent)
        self.refuse_ended(grant)
        state = self.state_of(grant)
        if state in ("waiting", "parked"):
            state = "waiting"
            grant.update(state=state, attempt=0, _take_id=None, _ready_at=self.now())
            grant["_position"] = self.next_position()
        return {"grant_id": grant["grant_id"], "state": state}

    def _reply(self, agent: str, grant: Json, reply: Json) -> str:
        file = self.own_file(agent, reply["artifact_id"])
        terms = {"to_agent": grant["_from_agent"], "reply_to": grant["grant_id"]}
        request = {"expires_at": file["expires_at"], **reply, **terms}
        return str(self.grant(agent, request)["grant_id"])

    def _given(self, grant_id: str, field: str, agent: str) -> Json:
        """A grant from or to an agent. Raises `grant_not_found`."""
        for grant in self.grants:
            if grant["grant_id"] == grant_id and grant[field] == agent and grant["to_agent"]:
                return grant
        raise Refusal("grant_not_found")

    def _taken(self, agent: str, take_id: str) -> Json:
        """The task whose last take this is. Raises `take_lapsed`."""
        for grant in self.grants:
            if (grant["_take_id"], grant["_taker"]) == (take_id, agent):
                return grant
        raise Refusal("take_lapsed")

    def _held(self, agent: str, take_id: str) -> Json:
        """The task that this take still holds. Raises `take_lapsed`, or what ended its grant."""
        grant = self._taken(agent, take_id)
        self.refuse_ended(grant)
        if self.state_of(grant) != "taken":
            raise Refusal("take_lapsed")
        return grant
