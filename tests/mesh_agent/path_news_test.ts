import assert from "node:assert/strict";
import { join } from "node:path";
import { PROJECT } from "../../packages/local/project.ts";
import { runProgram } from "../../packages/local/processes/run_program.ts";

const KEY = "6jAk0ChmFYG6jeY4tuvGjlASuiRcHUX4R8Gbs3oBxSU=";
const PORT = "127.0.0.1:41395";
const NOW = 1_790_000_000;

/** The agent's messages after each look. Each look reads one text by `agentfiles mesh path`. */
async function newsOf(
  looks: readonly string[],
  { works = true }: { readonly works?: boolean } = {},
): Promise<string[]> {
  const folder = await Deno.makeTempDir({ prefix: "path-news-" });
  try {
    const write = (name: string, text: string) => Deno.writeTextFile(join(folder, name), text);
    await write("paths", "");
    await write("configuration", `# builder\nPublicKey = ${KEY}\n`);
    const news: string[] = [];
    for (const [index, look] of looks.entries()) {
      const now = NOW + 10 * index;
      await write("forwarded", look);
      const peer = [
        KEY,
        "(none)",
        PORT,
        "10.213.0.2/32",
        works ? now - 1 : 0,
        works ? 100 + index : 0,
        0,
        25,
      ];
      await write("dump", `own\n${peer.join("\t")}\n`);
      const { code, errors } = await runProgram("awk", {
        args: [
          "-v",
          `now=${now}`,
          "-v",
          `folder=${folder}`,
          "-v",
          "has_endpoint=",
          "-f",
          join(PROJECT, "examples/mesh-agent/host/paths.awk"),
          "part=state",
          "paths",
          "part=forwarded",
          "forwarded",
          "part=registered",
          "configuration",
          "part=dump",
          "dump",
        ],
        cwd: folder,
      });
      assert.equal(code, 0, errors);
      news.push((await Deno.readTextFile(join(folder, "news"))).trim());
      await Deno.rename(join(folder, "paths.new"), join(folder, "paths"));
    }
    return news;
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test("a program of this host that says by which way after the tunnel works → said when it does, once", async () => {
  const at = "198.51.100.10:58883";
  const direct = `peer ${KEY} ${PORT} direct ${at} -\n`;
  assert.deepEqual(
    await newsOf(["", `peer ${KEY} ${PORT} none ${at} -\n`, direct, direct]),
    [
      `builder: connected, by way of a program of this host, at ${PORT}`,
      `builder: is reached by way of a program of this host, at ${at}`,
      `builder: is reached by way of a program of this host, directly, at ${at}`,
      "",
    ],
  );
});

Deno.test("a program of this host seeks a path, and finds none → logged once, when it stops seeking", async () => {
  const seeks = `peer ${KEY} ${PORT} none - -\nseeking ${KEY}\n`;
  const gaveUp = seeks.replace(/seeking .*\n/, "");
  const none =
    "builder: no connection; no way to it is found: neither punching nor a relay reaches it";
  assert.deepEqual(
    await newsOf([seeks, seeks, seeks, gaveUp, gaveUp], { works: false }),
    ["", "", "", none, ""],
  );
  // Also at the first look.
  assert.deepEqual(await newsOf([gaveUp, gaveUp], { works: false }), [none, ""]);
  assert.deepEqual(await newsOf(["", "", ""], { works: false }), ["", none, ""]);
});
