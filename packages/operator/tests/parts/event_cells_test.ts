import assert from "node:assert/strict";
import { eventCells } from "../../output/event_cells.ts";

const EVENT = {
  event_id: "evt_1",
  at: "2026-01-31T09:30:00.123Z",
  actor_kind: "grant_token",
  actor: null,
  agent_id: "builder",
  request_id: "r-1",
};

Deno.test("eventCells() of a download by a token → whose token, and the owner", () => {
  const event = {
    ...EVENT,
    type: "artifact.fetched",
    grant_id: "grant_1",
    other_agent_id: "planner",
  };
  assert.deepEqual(eventCells(event), [
    "2026-01-31T09:30:00Z",
    "artifact.fetched",
    "grant_token",
    "agent_id=builder grant_id=grant_1 other_agent_id=planner",
  ]);
});

Deno.test("eventCells() of a grant → each agent once", () => {
  const event = {
    ...EVENT,
    actor_kind: "agent",
    actor: "planner",
    type: "grant.created",
    from_agent: "planner",
    other_agent_id: "planner",
  };
  assert.deepEqual(eventCells(event).slice(2), ["planner", "agent_id=builder from_agent=planner"]);
});
