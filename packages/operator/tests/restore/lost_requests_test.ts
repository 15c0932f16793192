import assert from "node:assert/strict";
import { PASSED_OVER, readLostRequests } from "../../restore/lost_requests.ts";
import { cardsOf, FUNCTIONS } from "../../../../tests/operations/cards.ts";

Deno.test("every operation → listed after a restore, unless it reads, is repeated or counts", () => {
  for (const name of FUNCTIONS) {
    for (const [path, { afterRestore }] of cardsOf(name)) {
      const isListed = afterRestore === "listed" || typeof afterRestore === "function";
      assert.equal(PASSED_OVER.has(path), !isListed, path);
    }
  }
});

const SINCE = "2026-01-31T03:00:00.000Z";
const LATER = "2026-01-31T04:00:00.000Z";

async function pathsIn(...lines: readonly (object | string)[]): Promise<string[]> {
  const file = await Deno.makeTempFile();
  try {
    const texts = lines.map((line) => typeof line === "string" ? line : JSON.stringify(line));
    await Deno.writeTextFile(file, texts.join("\n"));
    return (await readLostRequests(file, SINCE)).map(({ path, error }) =>
      error === null ? path : `${path} ${error}`
    );
  } finally {
    await Deno.remove(file);
  }
}

const ok = { time: LATER, status: 200 };

for (
  const [named, line, paths] of [
    ["/enroll", { ...ok, path: "/enroll" }, ["/enroll"]],
    ["/token", { ...ok, path: "/token" }, ["/token"]],
    ["a path that nobody knows yet", { ...ok, path: "/new" }, ["/new"]],
    ["a tool of MCP", { ...ok, path: "/mcp", operations: ["/register", "/commit"] }, ["/commit"]],
    ["a refused tool", { ...ok, path: "/mcp", operations: ["/grant"], error: "forbidden" }, [
      "/grant forbidden",
    ]],
    ["a tool that reads", { ...ok, path: "/mcp", operations: ["/list"] }, []],
    ["a message without a tool", { ...ok, path: "/mcp" }, []],
    ["a download by a link", { ...ok, path: "/d/:grant_token" }, []],
    ["no path", { ...ok, path: null, status: 200 }, []],
    ["a refusal", { ...ok, path: "/grant", status: 403 }, []],
    ["before the backup", { ...ok, path: "/grant", time: SINCE }, []],
    ["no line of the functions", "starting", []],
  ] as const
) {
  Deno.test(`readLostRequests() of ${named} → ${paths.join(", ") || "nothing"}`, async () => {
    assert.deepEqual(await pathsIn(line), paths);
  });
}
