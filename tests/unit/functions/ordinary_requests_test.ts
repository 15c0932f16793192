import assert from "node:assert/strict";
import {
  type EndedRequest,
  logUnlessOrdinary,
} from "../../../supabase/functions/_shared/request/log/request_log.ts";

const HEARTBEAT: EndedRequest = {
  requestId: "1",
  functionName: "agent-mesh",
  method: "POST",
  path: "/peer/heartbeat",
  operations: [],
  caller: { kind: "operator" },
  status: 200,
  durationMilliseconds: 5,
  error: undefined,
  upstreamCalls: [{ name: "record_heartbeat", status: 200, duration_ms: 4 }],
  identity: null,
  ids: {},
  isOrdinary: true,
  hasWaited: false,
};

/** How many lines of the log a request writes. */
function linesOf(change: Partial<EndedRequest>): number {
  const { log, error } = console;
  let lines = 0;
  console.log = console.error = () => void lines++;
  try {
    logUnlessOrdinary({ ...HEARTBEAT, ...change });
    return lines;
  } finally {
    Object.assign(console, { log, error });
  }
}

const slowCall = { name: "record_heartbeat", status: 200, duration_ms: 1000 };

const CASES: readonly [what: string, change: Partial<EndedRequest>, lines: number][] = [
  ["that told nothing new", {}, 0],
  ["that told something", { isOrdinary: false }, 1],
  ["that was refused", { status: 404 }, 1],
  ["that failed", { status: 503 }, 1],
  ["that took a second", { durationMilliseconds: 1000 }, 1],
  ["that waited for 50 seconds", { durationMilliseconds: 50_000, hasWaited: true }, 0],
  ["that waited, and had a slow call", { hasWaited: true, upstreamCalls: [slowCall] }, 1],
  ["of a tool of an MCP client", { path: "/mcp", operations: ["/inbox"] }, 1],
];

for (const [what, change, lines] of CASES) {
  Deno.test(`the log of a request ${what} → ${lines === 0 ? "no line" : "one line"}`, () => {
    assert.equal(linesOf(change), lines);
  });
}
