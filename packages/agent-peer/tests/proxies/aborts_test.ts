import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { abortsSeen, WAYS } from "./aborts.ts";

const PROGRAM = fileURLToPath(new URL("./aborts.ts", import.meta.url));
const CONFIG = fileURLToPath(new URL("../../../../dev/deno.json", import.meta.url));

/** What each side must see. A program that gets no answer over HTTP is told so. */
const RESET = Object.fromEntries(WAYS.map((way) => [way, "ECONNRESET"]));
const ABORTED = Object.fromEntries(WAYS.map((way) => [way, ["abort"]]));
const BOTH = Object.fromEntries(WAYS.map((way) => [way, ["ECONNRESET", "abort"]]));
const EXPECTED = {
  "the peer's connection breaks": RESET,
  "the peer's connection breaks while the program uploads": { ...RESET, get: "HTTP/1.1 502" },
  "the program resets": ABORTED,
  "the program resets together with its last bytes": ABORTED,
  "the program resets behind bytes that the peer has not taken": ABORTED,
  "the proxies close": BOTH,
  "the proxies close, and the program does not read": BOTH,
  "both directions end": Object.fromEntries(WAYS.map((way) => [way, "end"])),
  "both directions end, and the peer takes the last bytes later": Object.fromEntries(
    WAYS.map((way) => [way, 12_000]),
  ),
};

Deno.test("a connection through a proxy or an exposed port that breaks → a reset on the other side, never an end", async () => {
  assert.deepEqual(await abortsSeen(), EXPECTED);
});

Deno.test("the same under Node → the same", async () => {
  const folder = await Deno.makeTempDir({ prefix: "aborts-" });
  try {
    const bundle = ["bundle", "--quiet", "--config", CONFIG, "--output", `${folder}/aborts.mjs`];
    await output(Deno.execPath(), [...bundle, PROGRAM]);
    assert.deepEqual(
      JSON.parse(await output("node", [`${folder}/aborts.mjs`, "--print"])),
      EXPECTED,
    );
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

async function output(command: string, args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await new Deno.Command(command, { args: [...args] }).output();
  assert.equal(code, 0, new TextDecoder().decode(stderr));
  return new TextDecoder().decode(stdout);
}
