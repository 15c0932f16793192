import type { Scenario } from "./scenario.ts";

export const GRANTS: readonly Scenario[] = [
  {
    name: "share() with a note → in the inbox of the other agent, as long as the file lasts",
    steps: [
      { as: "planner", call: "put", with: { key: "plan", text: "1" } },
      {
        as: "planner",
        call: "share",
        with: { target: "plan", to_agent: "$builder", note: "Build it." },
        gives: { artifact_id: "$1.artifact_id", to_agent: "$builder" },
      },
      {
        as: "builder",
        call: "inbox",
        gives: [{
          grant_id: "$2.grant_id",
          artifact_id: "$1.artifact_id",
          key: "plan",
          from_agent: "$planner",
          expires_at: "9999-12-31T23:59:59.000Z",
          note: "Build it.",
          deliver: "each",
          state: "waiting",
          attempt: 0,
        }],
      },
      {
        as: "planner",
        call: "grants",
        gives: [{ grant_id: "$2.grant_id", key: "plan", to_agent: "$builder", state: "waiting" }],
      },
    ],
  },
  {
    name: "inbox() of one sender, and of some states → only these",
    steps: [
      { as: "planner", call: "put", with: { key: "first", text: "1", to: ["$builder"] } },
      { as: "planner", call: "put", with: { key: "second", text: "1", to: ["$builder"] } },
      { as: "builder", call: "inbox", gives: [{ key: "second" }, { key: "first" }] },
      { as: "builder", call: "inbox", with: { from_agent: "$builder" }, gives: [] },
      { as: "builder", call: "inbox", with: { states: ["parked"] }, gives: [] },
    ],
  },
  {
    name: "unshare() → access ends; again: nothing left to end",
    steps: [
      { as: "planner", call: "put", with: { key: "plan", text: "1", to: ["$builder"] } },
      {
        as: "planner",
        call: "unshare",
        with: { target: "plan", agent: "$builder" },
        gives: { revoked: 1 },
      },
      {
        as: "planner",
        call: "unshare",
        with: { target: "plan", agent: "$builder" },
        gives: { revoked: 0 },
      },
      { as: "builder", call: "inbox", gives: [] },
      {
        as: "builder",
        call: "get",
        with: { target: "$1.artifact_id" },
        fails: ["artifact_not_found", 404],
      },
    ],
  },
  {
    name: "share() of somebody else's file, and until a time that has passed → refused",
    steps: [
      { as: "planner", call: "put", with: { key: "plan", text: "1" } },
      {
        as: "builder",
        call: "share",
        with: { target: "$1.artifact_id", to_agent: "$builder" },
        fails: ["artifact_not_found", 404],
      },
      {
        as: "planner",
        call: "share",
        with: { target: "plan", to_agent: "$builder", expires_at: "2020-01-01T00:00:00Z" },
        fails: ["invalid_request", 422],
      },
      { as: "builder", call: "inbox", gives: [] },
    ],
  },
  {
    name: "share() with the same idempotency_key → the same grant, or idempotency_conflict",
    steps: [
      { as: "planner", call: "put", with: { key: "plan", text: "1" } },
      {
        as: "planner",
        call: "share",
        with: { target: "plan", to_agent: "$builder", idempotency_key: "one" },
      },
      {
        as: "planner",
        call: "share",
        with: { target: "plan", to_agent: "$builder", idempotency_key: "one" },
        gives: { grant_id: "$2.grant_id", token: null, repeated: true },
      },
      {
        as: "planner",
        call: "share",
        with: { target: "plan", to_agent: "$builder", note: "Other", idempotency_key: "one" },
        fails: ["idempotency_conflict", 409],
      },
      { as: "builder", call: "inbox", gives: [{ grant_id: "$2.grant_id", note: null }] },
    ],
  },
  {
    name: "share() with a name that nobody has had → unknown_recipient, or refused if known_only",
    steps: [
      { as: "planner", call: "put", with: { key: "plan", text: "1" } },
      {
        as: "planner",
        call: "share",
        with: { target: "plan", to_agent: "$planner-2", known_only: true },
        fails: ["invalid_request", 422],
      },
      { as: "planner", call: "grants", gives: [] },
      {
        as: "planner",
        call: "share",
        with: { target: "plan", to_agent: "$planner-2" },
        gives: { unknown_recipient: true },
      },
    ],
  },
  {
    name: "link() for one download → the bytes, then grant_used_up",
    steps: [
      { as: "planner", call: "put", with: { key: "plan", text: "how" } },
      {
        as: "planner",
        call: "link",
        with: { target: "plan", max_downloads: 1 },
        gives: { to_agent: null },
      },
      { as: "builder", call: "get", with: { target: "$2.token" }, gives: { text: "how" } },
      {
        as: "builder",
        call: "get",
        with: { target: "$2.token" },
        fails: ["grant_used_up", 410],
      },
    ],
  },
  {
    name: "block() of a sender → not in the inbox, until unblock()",
    isNotInTesting: true,
    steps: [
      { as: "planner", call: "put", with: { key: "plan", text: "1", to: ["$builder"] } },
      {
        as: "builder",
        call: "block",
        with: { from_agent: "$planner" },
        gives: { from_agent: "$planner", blocked: true },
      },
      { as: "builder", call: "inbox", gives: [] },
      { as: "builder", call: "unblock", with: { from_agent: "$planner" } },
      { as: "builder", call: "inbox", gives: [{ key: "plan" }] },
    ],
  },
  {
    name: "events() and recipients() → what happened, and who shares files",
    isNotInTesting: true,
    steps: [
      { as: "planner", call: "put", with: { key: "plan", text: "1", to: ["$builder"] } },
      {
        as: "planner",
        call: "events",
        with: { types: ["artifact.committed", "grant.created"] },
        gives: [{ type: "artifact.committed" }, { type: "grant.created" }],
      },
      { as: "planner", call: "recipients", gives: [{ agent_id: "$builder" }] },
    ],
  },
  {
    name: "a standing grant of a prefix → what is committed below it is granted, until its end",
    isNotInTesting: true,
    steps: [
      {
        as: "planner",
        call: "create_standing",
        with: { prefix: "plans/", to_agent: "$builder", expires_at: "2100-01-01T00:00:00Z" },
        gives: { prefix: "plans/", to_agent: "$builder" },
      },
      { as: "planner", call: "put", with: { key: "plans/house", text: "1" } },
      { as: "planner", call: "put", with: { key: "notes", text: "1" } },
      { as: "builder", call: "inbox", gives: [{ key: "plans/house" }] },
      { as: "planner", call: "standing", gives: [{ standing_id: "$1.standing_id" }] },
      {
        as: "planner",
        call: "end_standing",
        with: { standing_id: "$1.standing_id" },
        gives: 1,
      },
      { as: "planner", call: "standing", gives: [] },
      { as: "builder", call: "inbox", gives: [] },
    ],
  },
  {
    name: "leave() → the key has ended",
    isNotInTesting: true,
    steps: [
      { as: "planner", call: "leave", gives: { agent_id: "$planner", left: true } },
      { as: "planner", call: "whoami", fails: ["unauthenticated", 401] },
    ],
  },
];
