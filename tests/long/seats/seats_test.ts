/** One hand-over in every seat, and the table of the results. */
import assert from "node:assert/strict";
import { type Given, handOverBy, NotHereError, type Outcome } from "./hand_over.ts";
import { byFramework } from "./programs/frameworks.ts";
import { byGenerated, saveDocuments } from "./programs/generated.ts";
import { byChromium, byDeno, byNode, byWorkerd, writeJavaScript } from "./programs/javascript.ts";
import { byMcp } from "./programs/mcp.ts";
import { byOpenapiPythonClient, byPython, byPython310 } from "./programs/python.ts";
import { HAND_OVERS, type PythonFramework, pythonVersionOf } from "../frameworks/documented.ts";
import { interpreter } from "../../../clients/python/tests/interpreter.ts";
import { inProject } from "../runtimes/tools.ts";
import { type Row, type SeatName, SEATS, tableOf } from "./seats.ts";

type Run = (given: Given, folder: string) => Promise<Outcome>;

/** The hand-over of seats.ts of this folder, but for frameworks whose tools take only texts. */
type HandsOver = Exclude<SeatName, PythonFramework>;

const RUNS: Readonly<Record<HandsOver, Run>> = {
  "Node 20": (given, folder) => byNode(folder, "node20", given),
  "Node 22": (given, folder) => byNode(folder, "node22", given),
  "Node 24": (given, folder) => byNode(folder, "node24", given),
  "Deno 2.9.6": (given, folder) => byDeno(folder, "this", given),
  "Deno 2.1.4": (given, folder) => byDeno(folder, "hosted", given),
  "Bun": (given, folder) => byNode(folder, "bun", given),
  "workerd": (given, folder) => byWorkerd(folder, given),
  "Chromium": (given, folder) => byChromium(folder, given),
  "Python 3.10": (given) => byPython310(given),
  "Python 3.11 or newer": async (given) => await byPython(await interpreter(), given),
  "MCP client 1.x": (given) => byMcp("SDK 1.x", given),
  "MCP client 2.x": (given) => byMcp("2026-07-28", given),
  "orval": (given, folder) => byGenerated(folder, "orval", given),
  "@hey-api/openapi-ts": (given, folder) => byGenerated(folder, "@hey-api/openapi-ts", given),
  "openapi-typescript": (given, folder) => byGenerated(folder, "openapi-typescript", given),
  "openapi-python-client": (given, folder) => byOpenapiPythonClient(folder, given),
  "ai": (given) => byFramework("ai", given),
  "@openai/agents": (given) => byFramework("@openai/agents", given),
  "@mastra/core": (given) => byFramework("@mastra/core", given),
  "@langchain/langgraph": (given) => byFramework("@langchain/langgraph", given),
  "@google/adk": (given) => byFramework("@google/adk", given),
};

/** Has a seat hand over. Resolves to the version of its program. */
async function handOver(name: SeatName, folder: string): Promise<string> {
  if (!isFramework(name)) return await handOverBy((given) => RUNS[name](given, folder));
  await HAND_OVERS[name].run();
  return await pythonVersionOf(name);
}

function isFramework(name: SeatName): name is PythonFramework {
  return name in HAND_OVERS;
}

/** The only seats whose program may be missing: no package that the tests install contains it. */
const MAY_BE_MISSING: ReadonlySet<SeatName> = new Set(["Python 3.10"]);

Deno.test("one agent puts a file, another gets it, a third one's is refused; with a framework in Python, one agent takes a task and answers it → in every seat", async (test) => {
  const rows = new Map<SeatName, Row>();
  const tools = [
    ...[
      "@hey-api/openapi-ts",
      "bun",
      "esbuild",
      "miniflare",
      "node20",
      "node22",
      "node24",
    ] as const,
    ...["openapi-fetch", "openapi-typescript", "orval", "typescript"] as const,
  ];
  await inProject(tools, async (folder) => {
    await writeJavaScript(folder);
    await saveDocuments(folder);
    for (const { name, version: expected } of SEATS) {
      await test.step(name, async () => {
        rows.set(name, { version: "", result: "FAILED" });
        try {
          const version = await handOver(name, folder);
          assert.match(version, expected);
          rows.set(name, { version, result: "ok" });
        } catch (error) {
          if (!(error instanceof NotHereError && MAY_BE_MISSING.has(name))) throw error;
          rows.set(name, { version: "", result: `not available here: ${error.message}` });
        }
      });
    }
  });
  console.log(`\n${tableOf(rows)}\n`);
  const failed = SEATS.filter(({ name }) =>
    !/^(ok|not available here)/.test(rows.get(name)?.result ?? "")
  );
  assert.deepEqual(failed.map(({ name }) => name), []);
});
