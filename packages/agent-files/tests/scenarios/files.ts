import type { Scenario } from "./scenario.ts";

const UNKNOWN = "art_00000000000000000000000000000000";

export const FILES: readonly Scenario[] = [
  {
    name: "put() of a name and a text → the defaults",
    steps: [{
      as: "planner",
      call: "put",
      with: { key: "plan", text: "Größe" },
      gives: {
        agent_id: "$planner",
        key: "plan",
        mime: "application/octet-stream",
        size: 7,
        ttl_days: 7,
        state: "committed",
        version: 1,
        metadata: {},
        grants: [],
      },
    }],
  },
  {
    name: "put() with all that a file has → so it is listed and opened",
    steps: [
      {
        as: "planner",
        call: "put",
        with: {
          key: "plan",
          text: "1",
          mime: "text/plain",
          ttl_days: 2,
          metadata: { stage: "draft" },
          to: ["$builder"],
        },
        gives: { ttl_days: 2, grants: [{ to_agent: "$builder", expires_at: "$1.expires_at" }] },
      },
      {
        as: "planner",
        call: "list",
        gives: [{ key: "plan", mime: "text/plain", metadata: { stage: "draft" } }],
      },
      {
        as: "builder",
        call: "get",
        with: { target: "plan", from_agent: "$planner" },
        gives: {
          artifact_id: "$1.artifact_id",
          mime: "text/plain",
          size: 1,
          sha256: "$1.sha256",
          version: 1,
          metadata: { stage: "draft" },
          text: "1",
        },
      },
    ],
  },
  {
    name: "put() with a wrong name, agent, or words for nobody → invalid_request, nothing sent",
    steps: [
      {
        as: "planner",
        call: "put",
        with: { key: "/plan", text: "1" },
        fails: ["invalid_request", 0],
      },
      {
        as: "planner",
        call: "put",
        with: { key: "plan", text: "1", to: ["a b"] },
        fails: ["invalid_request", 0],
      },
      {
        as: "planner",
        call: "put",
        with: { key: "plan", text: "1", note: "Build it." },
        fails: ["invalid_request", 0],
      },
      { as: "planner", call: "list", gives: [] },
    ],
  },
  {
    name: "put() for no days → invalid_request of the service",
    steps: [
      {
        as: "planner",
        call: "put",
        with: { key: "plan", text: "1", ttl_days: 0 },
        fails: ["invalid_request", 422],
      },
      { as: "planner", call: "list", gives: [] },
    ],
  },
  {
    name: "get() of a file of one's own, by its name and by its id → its bytes",
    steps: [
      { as: "planner", call: "put", with: { key: "plan", text: "how" } },
      { as: "planner", call: "get", with: { target: "plan" }, gives: { text: "how" } },
      {
        as: "planner",
        call: "get",
        with: { target: "$1.artifact_id" },
        gives: { key: "plan", text: "how" },
      },
    ],
  },
  {
    name: "get() of what is not there, or not granted → artifact_not_found",
    steps: [
      { as: "planner", call: "put", with: { key: "plan", text: "1" } },
      {
        as: "builder",
        call: "get",
        with: { target: "$1.artifact_id" },
        fails: ["artifact_not_found", 404],
      },
      {
        as: "builder",
        call: "get",
        with: { target: "plan", from_agent: "$planner" },
        fails: ["artifact_not_found", 404],
      },
      {
        as: "planner",
        call: "get",
        with: { target: UNKNOWN },
        fails: ["artifact_not_found", 404],
      },
      {
        as: "planner",
        call: "get",
        with: { target: "plan", version: 2 },
        fails: ["artifact_not_found", 404],
      },
    ],
  },
  {
    name: "list() of a prefix → its files, in the order of their names",
    steps: [
      { as: "planner", call: "put", with: { key: "plans/b", text: "1" } },
      { as: "planner", call: "put", with: { key: "plans/a", text: "1" } },
      { as: "planner", call: "put", with: { key: "notes", text: "1" } },
      {
        as: "planner",
        call: "list",
        with: { prefix: "plans/" },
        gives: [{ key: "plans/a" }, { key: "plans/b" }],
      },
      { as: "builder", call: "list", gives: [] },
    ],
  },
  {
    name: "put() of one name again → a version, and the earlier one can be had",
    steps: [
      { as: "planner", call: "put", with: { key: "plan", text: "one" } },
      { as: "planner", call: "put", with: { key: "plan", text: "two" }, gives: { version: 2 } },
      {
        as: "planner",
        call: "versions",
        with: { key: "plan" },
        gives: [{ version: 2, state: "committed" }, { version: 1, state: "superseded" }],
      },
      {
        as: "planner",
        call: "get",
        with: { target: "plan", version: 1 },
        gives: { version: 1, text: "one" },
      },
      { as: "planner", call: "list", gives: [{ artifact_id: "$2.artifact_id" }] },
    ],
  },
  {
    name: "put() with keep_versions → older versions end, but not one that is granted",
    isNotInTesting: true,
    steps: [
      { as: "planner", call: "put", with: { key: "plan", text: "one", to: ["$builder"] } },
      { as: "planner", call: "put", with: { key: "plan", text: "two" } },
      { as: "planner", call: "put", with: { key: "plan", text: "three" } },
      {
        as: "planner",
        call: "put",
        with: { key: "plan", text: "four", keep_versions: 1 },
        gives: { version: 4 },
      },
      {
        as: "planner",
        call: "versions",
        with: { key: "plan" },
        gives: [{ version: 4 }, { version: 3 }, { version: 1 }],
      },
      {
        as: "planner",
        call: "get",
        with: { target: "$2.artifact_id" },
        fails: ["artifact_expired", 410],
      },
    ],
  },
  {
    name: "remove() → artifact_expired for its owner, not found by others",
    steps: [
      { as: "planner", call: "put", with: { key: "plan", text: "1", to: ["$builder"] } },
      { as: "planner", call: "remove", with: { target: "plan" }, gives: { state: "deleted" } },
      { as: "planner", call: "list", gives: [] },
      { as: "builder", call: "inbox", gives: [] },
      {
        as: "planner",
        call: "get",
        with: { target: "$1.artifact_id" },
        fails: ["artifact_expired", 410],
      },
      {
        as: "builder",
        call: "get",
        with: { target: "$1.artifact_id" },
        fails: ["artifact_not_found", 404],
      },
    ],
  },
  {
    name: "whoami(), by a key that is known and by one that is not → the agent, unauthenticated",
    steps: [
      { as: "planner", call: "whoami", gives: { agent_id: "$planner" } },
      { as: "stranger", call: "whoami", fails: ["unauthenticated", 401] },
      { as: "stranger", call: "list", fails: ["unauthenticated", 401] },
      {
        as: "stranger",
        call: "put",
        with: { key: "plan", text: "1" },
        fails: ["unauthenticated", 401],
      },
    ],
  },
];
