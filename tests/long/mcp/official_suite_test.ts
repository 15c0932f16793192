/** The Model Context Protocol's own conformance suite, against both functions. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { artifactTest } from "../../conformance/artifacts.ts";
import { type Agent, headersOf } from "../../conformance/client.ts";
import type { FunctionName } from "../../conformance/mcp/mcp_client.ts";
import { startOwnFunction } from "../../own_function/own_function.ts";
import { inProject, runtimeIn } from "../runtimes/tools.ts";

const TOOL_OF_ITS_OWN = "calls a tool that only the suite's own server has";
const NO_PROMPTS = "no prompts are served";
const NO_STREAMS = "no streams are served: every answer is whole";

/** Scenarios of features that these servers do not declare. All other scenarios must pass. */
const NOT_APPLICABLE: Readonly<Record<string, string>> = {
  "logging-set-level": "the capability `logging` is not declared",
  "completion-complete": "the capability `completions` is not declared",
  "tools-call-simple-text": TOOL_OF_ITS_OWN,
  "tools-call-image": TOOL_OF_ITS_OWN,
  "tools-call-audio": TOOL_OF_ITS_OWN,
  "tools-call-embedded-resource": TOOL_OF_ITS_OWN,
  "tools-call-mixed-content": TOOL_OF_ITS_OWN,
  "tools-call-with-logging": TOOL_OF_ITS_OWN,
  "tools-call-error": TOOL_OF_ITS_OWN,
  "tools-call-with-progress": TOOL_OF_ITS_OWN,
  "tools-call-sampling": TOOL_OF_ITS_OWN,
  "tools-call-elicitation": TOOL_OF_ITS_OWN,
  "json-schema-2020-12": TOOL_OF_ITS_OWN,
  "elicitation-sep1034-defaults": TOOL_OF_ITS_OWN,
  "elicitation-sep1330-enums": TOOL_OF_ITS_OWN,
  "server-sse-polling": NO_STREAMS,
  "server-sse-multiple-streams": NO_STREAMS,
  "resources-read-text": "reads a resource that only the suite's own server has",
  "resources-read-binary": "reads a resource that only the suite's own server has",
  "resources-templates-read": "reads a resource that only the suite's own server has",
  "resources-subscribe": "the capability `resources.subscribe` is not declared",
  "resources-unsubscribe": "the capability `resources.subscribe` is not declared",
  "prompts-list": NO_PROMPTS,
  "prompts-get-simple": NO_PROMPTS,
  "prompts-get-with-args": NO_PROMPTS,
  "prompts-get-embedded-resource": NO_PROMPTS,
  "prompts-get-with-image": NO_PROMPTS,
};

/** Scenarios of features that only one of the functions lacks. */
const NOT_BY: Readonly<Record<FunctionName, readonly string[]>> = {
  "agent-artifacts": [],
  // agent-mesh does not declare the capability `resources`.
  "agent-mesh": ["resources-list"],
};

interface Counts {
  readonly passed: number;
  readonly failed: number;
}

/** Runs every scenario against a server. Resolves to the results by scenario. */
async function runSuite(folder: string, url: string): Promise<Map<string, Counts>> {
  const program = join(folder, "node_modules/@modelcontextprotocol/conformance/dist/index.js");
  const { stdout } = await new Deno.Command(runtimeIn(folder, "node24"), {
    args: [program, "server", "--url", url, "--suite", "all"],
    cwd: folder,
    stderr: "null",
  }).output();
  const summary = new TextDecoder().decode(stdout).split("=== SUMMARY ===")[1] ?? "";
  return new Map(
    Array.from(
      summary.matchAll(/^\S+ ([a-z0-9-]+): (\d+) passed, (\d+) failed/gm),
      ([, name, passed, failed]) => [name!, { passed: Number(passed), failed: Number(failed) }],
    ),
  );
}

/**
 * Tests the function through a proxy that adds the planner's agent key, because the suite cannot
 * send one.
 */
async function testFunction(name: FunctionName, planner: Agent, folder: string): Promise<void> {
  let target = "";
  const door = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    async (request) => {
      const headers = new Headers([...request.headers, ...new Headers(headersOf(planner))]);
      return await fetch(target, { method: request.method, headers, body: request.body });
    },
  );
  const url = `http://127.0.0.1:${door.addr.port}`;
  await using own = await startOwnFunction({ name, environment: { MCP_ALLOWED_ORIGINS: url } });
  target = `${own.process.url}/${name}/mcp`;
  const results = await runSuite(folder, `${url}/mcp`);
  await door.shutdown();

  assert.deepEqual(Object.keys(NOT_APPLICABLE).filter((scenario) => !results.has(scenario)), []);
  const applicable = [...results].filter(([scenario]) =>
    !(scenario in NOT_APPLICABLE) && !NOT_BY[name].includes(scenario)
  );
  assert.ok(applicable.length >= 4, [...results.keys()].join());
  for (const [scenario, { passed, failed }] of applicable) {
    assert.ok(passed > 0 && failed === 0, `${scenario}: ${passed} passed, ${failed} failed`);
  }
}

artifactTest(
  "the official conformance suite of MCP, against both functions → every scenario that applies passes",
  async ({ planner }) => {
    await inProject(["node24", "@modelcontextprotocol/conformance"], async (folder) => {
      for (const name of ["agent-artifacts", "agent-mesh"] as const) {
        await testFunction(name, planner, folder);
      }
    });
  },
);
