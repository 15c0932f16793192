import type { Scenario } from "./scenario.ts";

const UNKNOWN = "take_00000000000000000000000000000000";

export const TASKS: readonly Scenario[] = [
  {
    name: "a task that is read, and answered by a text → a file of replies/, granted to the giver",
    steps: [
      {
        as: "planner",
        call: "put",
        with: {
          key: "plan",
          text: '{"floors": 2}',
          to: ["$builder"],
          note: "Build it.",
          metadata: { stage: "draft" },
        },
      },
      {
        as: "builder",
        call: "tasks",
        with: { wait: false },
        each: [["text"], ["json"], ["done", { reply: "Built.", note: "As planned." }]],
        gives: [{
          id: "$1.grants.0.grant_id",
          key: "plan",
          note: "Build it.",
          from_agent: "$planner",
          metadata: { stage: "draft" },
          attempt: 1,
          entry: { artifact_id: "$1.artifact_id", state: "taken" },
          gave: ['{"floors": 2}', { floors: 2 }, { state: "done" }],
        }],
      },
      {
        as: "planner",
        call: "inbox",
        gives: [{
          key: "replies/plan",
          from_agent: "$builder",
          note: "As planned.",
          reply_to: "$1.grants.0.grant_id",
          version: 1,
        }],
      },
      { as: "builder", call: "inbox", gives: [] },
      { as: "planner", call: "grants", gives: [{ state: "done", taken_by: "$builder" }] },
    ],
  },
  {
    name: "the tasks of one sender and one prefix → the oldest first, and no other",
    steps: [
      { as: "planner", call: "put", with: { key: "a/1", text: "1", to: ["$builder"] } },
      { as: "planner", call: "put", with: { key: "b", text: "1", to: ["$builder"] } },
      { as: "planner", call: "put", with: { key: "a/0", text: "1", to: ["$builder"] } },
      {
        as: "builder",
        call: "tasks",
        with: { wait: false, prefix: "a/", from_agent: "$planner" },
        each: [["done"]],
        gives: [{ key: "a/1" }, { key: "a/0" }],
      },
      { as: "builder", call: "take", with: { from_agent: "$builder" }, gives: { tasks: [] } },
      { as: "builder", call: "inbox", gives: [{ key: "b", attempt: 0 }] },
    ],
  },
  {
    name: "a note for no reply → invalid_request, and the task is still held",
    steps: [
      { as: "planner", call: "put", with: { key: "plan", text: "1", to: ["$builder"] } },
      {
        as: "builder",
        call: "tasks",
        with: { wait: false },
        each: [["done", { note: "Built." }], ["done"]],
        gives: [{ gave: [{ failed: ["invalid_request", 0, false] }, { reply: null }] }],
      },
    ],
  },
  {
    name: "a task that fails for good → parked, until its giver lets it wait again",
    steps: [
      { as: "planner", call: "put", with: { key: "plan", text: "1", to: ["$builder"] } },
      {
        as: "builder",
        call: "tasks",
        with: { wait: false },
        each: [["fail", { reason: "No roof.", final: true }], ["fail", { reason: "Again." }]],
        gives: [{ gave: [{ state: "parked", next_at: null }, null] }],
      },
      { as: "builder", call: "inbox", gives: [] },
      { as: "builder", call: "inbox", with: { states: ["parked"] }, gives: [{ key: "plan" }] },
      { as: "planner", call: "grants", gives: [{ state: "parked", reason: "No roof." }] },
      {
        as: "builder",
        call: "requeue",
        with: { grant_id: "$1.grants.0.grant_id" },
        fails: ["grant_not_found", 404],
      },
      {
        as: "planner",
        call: "requeue",
        with: { grant_id: "$1.grants.0.grant_id" },
        gives: { state: "waiting" },
      },
      { as: "builder", call: "take", gives: { tasks: [{ key: "plan", attempt: 1 }] } },
    ],
  },
  {
    name: "a task that fails → waits 10 seconds; after its last attempt it is parked",
    steps: [
      {
        as: "planner",
        call: "put",
        with: { key: "plan", text: "1", to: ["$builder"], max_attempts: 2 },
      },
      {
        as: "builder",
        call: "tasks",
        with: { wait: false },
        each: [["fail", { reason: "No roof.", retry_after_seconds: 0 }]],
        gives: [
          { attempt: 1, gave: [{ state: "waiting" }] },
          { attempt: 2, gave: [{ state: "parked" }] },
        ],
      },
      { as: "planner", call: "put", with: { key: "other", text: "1", to: ["$builder"] } },
      {
        as: "builder",
        call: "tasks",
        with: { wait: false },
        each: [["fail", { reason: "No roof." }]],
        gives: [{ attempt: 1, gave: [{ state: "waiting" }] }],
      },
    ],
  },
  {
    name: "fail() of a worker that was interrupted → no attempt, also in the last one",
    steps: [
      {
        as: "planner",
        call: "put",
        with: { key: "plan", text: "1", to: ["$builder"], max_attempts: 1 },
      },
      { as: "builder", call: "take", gives: { tasks: [{ attempt: 1 }] } },
      {
        as: "builder",
        call: "fail",
        with: { take_id: "$2.tasks.0.take_id", reason: "Stopped.", interrupted: true },
        gives: { state: "waiting" },
      },
      {
        as: "builder",
        call: "tasks",
        with: { wait: false },
        each: [["fail", { reason: "Stopped.", retry_after_seconds: 3600, interrupted: true }]],
        gives: [{ attempt: 1, gave: [{ state: "waiting" }] }],
      },
      { as: "builder", call: "inbox", gives: [{ state: "waiting", attempt: 0 }] },
    ],
  },
  {
    name: "a task that is released, or left without an outcome → taken again at once",
    steps: [
      {
        as: "planner",
        call: "put",
        with: { key: "plan", text: "1", to: ["$builder"], max_attempts: 2 },
      },
      {
        as: "builder",
        call: "tasks",
        with: { wait: false },
        each: [["release"]],
        gives: [{ attempt: 1, gave: [{ state: "waiting" }] }, {
          attempt: 2,
          gave: [{ state: "parked" }],
        }],
      },
      { as: "planner", call: "requeue", with: { grant_id: "$1.grants.0.grant_id" } },
      {
        as: "builder",
        call: "tasks",
        with: { wait: false },
        gives: [{ attempt: 1 }, { attempt: 2 }],
      },
    ],
  },
  {
    name: "take(), extend() and done() → one task at a time, and the same answer again",
    steps: [
      { as: "planner", call: "put", with: { key: "first", text: "1", to: ["$builder"] } },
      { as: "planner", call: "put", with: { key: "second", text: "1", to: ["$builder"] } },
      {
        as: "builder",
        call: "take",
        gives: { tasks: [{ key: "first", state: "taken", attempt: 1 }] },
      },
      {
        as: "builder",
        call: "extend",
        with: { take_id: "$3.tasks.0.take_id", seconds: 60 },
        gives: { take_id: "$3.tasks.0.take_id" },
      },
      {
        as: "builder",
        call: "done",
        with: { take_id: "$3.tasks.0.take_id" },
        gives: { grant_id: "$1.grants.0.grant_id", state: "done", reply: null },
      },
      {
        as: "builder",
        call: "done",
        with: { take_id: "$3.tasks.0.take_id" },
        gives: { grant_id: "$1.grants.0.grant_id", state: "done", reply: null },
      },
      {
        as: "builder",
        call: "extend",
        with: { take_id: "$3.tasks.0.take_id", seconds: 60 },
        fails: ["take_lapsed", 409],
      },
      { as: "builder", call: "take", with: { max: 4 }, gives: { tasks: [{ key: "second" }] } },
    ],
  },
  {
    name: "done() by the grant, of a task that nobody has taken → done",
    steps: [
      { as: "planner", call: "put", with: { key: "plan", text: "1", to: ["$builder"] } },
      {
        as: "planner",
        call: "done",
        with: { grant_id: "$1.grants.0.grant_id" },
        fails: ["grant_not_found", 404],
      },
      {
        as: "builder",
        call: "done",
        with: { grant_id: "$1.grants.0.grant_id" },
        gives: { state: "done" },
      },
      { as: "builder", call: "inbox", gives: [] },
      { as: "builder", call: "take", gives: { tasks: [] } },
    ],
  },
  {
    name: "extend(), fail() and done() of somebody else's take, or of none → take_lapsed",
    steps: [
      { as: "planner", call: "put", with: { key: "plan", text: "1", to: ["$builder"] } },
      { as: "builder", call: "take" },
      {
        as: "planner",
        call: "done",
        with: { take_id: "$2.tasks.0.take_id" },
        fails: ["take_lapsed", 409],
      },
      {
        as: "planner",
        call: "fail",
        with: { take_id: "$2.tasks.0.take_id", reason: "Mine." },
        fails: ["take_lapsed", 409],
      },
      {
        as: "builder",
        call: "extend",
        with: { take_id: UNKNOWN, seconds: 60 },
        fails: ["take_lapsed", 409],
      },
      { as: "builder", call: "inbox", gives: [{ state: "taken" }] },
    ],
  },
  {
    name: "tasks() of no concurrency → invalid_request, and nothing is taken",
    steps: [
      { as: "planner", call: "put", with: { key: "plan", text: "1", to: ["$builder"] } },
      {
        as: "builder",
        call: "tasks",
        with: { wait: false, concurrency: 0 },
        fails: ["invalid_request", 0],
      },
      { as: "builder", call: "inbox", gives: [{ state: "waiting", attempt: 0 }] },
    ],
  },
];
