import assert from "node:assert/strict";
import { headersOf } from "../../conformance/client.ts";
import { artifactTest, publish } from "../../conformance/artifacts.ts";
import { startOwnFunction } from "../../own_function/own_function.ts";

/** The scenarios of the protocol's own suite that any server can pass. */
const PASSED = [
  "server-initialize",
  "ping",
  "tools-list",
  "resources-list",
  "dns-rebinding-protection",
];

/** These scenarios check nothing if the server opens no stream, and this server opens none. */
const EMPTY = ["server-sse-polling", "server-sse-multiple-streams"];

/** Scenarios that need what only the suite's own example server has or declares. */
const OF_THE_EXAMPLE_SERVER: Readonly<Record<string, readonly string[]>> = {
  "its tools": [
    "tools-call-simple-text",
    "tools-call-image",
    "tools-call-audio",
    "tools-call-embedded-resource",
    "tools-call-mixed-content",
    "tools-call-with-logging",
    "tools-call-error",
    "tools-call-with-progress",
    "tools-call-sampling",
    "tools-call-elicitation",
    "json-schema-2020-12",
    "elicitation-sep1034-defaults",
    "elicitation-sep1330-enums",
  ],
  "its resources": ["resources-read-text", "resources-read-binary", "resources-templates-read"],
  "its capabilities": [
    "logging-set-level",
    "completion-complete",
    "resources-subscribe",
    "resources-unsubscribe",
    "prompts-list",
    "prompts-get-simple",
    "prompts-get-with-args",
    "prompts-get-embedded-resource",
    "prompts-get-with-image",
  ],
};

/**
 * A proxy in front of the function that adds a credential, because the suite sends none. The
 * service allows MCP from pages of this proxy's origin, as the DNS rebinding scenario requires.
 */
function startDoor(credential: Readonly<Record<string, string>>) {
  let target = "";
  const { promise: origin, resolve } = Promise.withResolvers<string>();
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: ({ port }) => resolve(`http://127.0.0.1:${port}`) },
    (request) => {
      const headers = new Headers(request.headers);
      for (const [name, value] of Object.entries(credential)) headers.set(name, value);
      return fetch(target, { method: request.method, headers, body: request.body });
    },
  );
  return {
    origin,
    leadTo: (url: string) => target = url,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

/** Resolves to how many checks of each scenario passed and failed. */
async function runScenarios(url: string): Promise<Map<string, [passed: number, failed: number]>> {
  // Run it with Deno: the suite does not load on Node 20, whose `node:fs` has no `globSync`.
  const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "--allow-all",
      "--no-config",
      "--no-lock",
      "npm:@modelcontextprotocol/conformance@0.1.16",
      "server",
      "--suite=all",
      `--url=${url}`,
    ],
    env: { NO_COLOR: "1" },
  }).output();
  const report = new TextDecoder().decode(stdout);
  const lines = report.matchAll(/^\S ([a-z\d-]+): (\d+) passed, (\d+) failed$/gm);
  const scenarios = new Map(
    Array.from(lines, ([, name = "", passed, failed]) => [name, [Number(passed), Number(failed)]]),
  );
  assert.ok(scenarios.size > 0, report + new TextDecoder().decode(stderr));
  return scenarios as Map<string, [number, number]>;
}

artifactTest(
  "the conformance suite of the protocol → every scenario that is not about its own example server passes",
  async ({ planner }) => {
    await publish(planner);
    await using door = startDoor(headersOf(planner));
    const origin = await door.origin;
    await using own = await startOwnFunction({ environment: { MCP_ALLOWED_ORIGINS: origin } });
    door.leadTo(`${own.process.url}/agent-artifacts/mcp`);
    const scenarios = await runScenarios(`${origin}/mcp`);
    const others = Object.values(OF_THE_EXAMPLE_SERVER).flat();
    assert.deepEqual([...scenarios.keys()].sort(), [...PASSED, ...EMPTY, ...others].sort());
    for (const name of PASSED) {
      const [passed, failed] = scenarios.get(name)!;
      assert.ok(passed > 0 && failed === 0, name);
    }
    for (const name of EMPTY) assert.deepEqual(scenarios.get(name), [0, 0], name);
  },
);
