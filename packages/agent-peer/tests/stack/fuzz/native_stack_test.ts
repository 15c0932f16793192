/** How much of lwIP's parser damaged packets run, and what sanitizers find. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { LWIP } from "../../../../../dev/mesh/lwip_source.ts";
import { type Line, NativeStack } from "./native_stack.ts";
import { Storm } from "./storm.ts";

const PACKETS = 50_000;

/** The least share that must run of the lines that a peer's bytes can reach. */
const LEAST = 0.9;

const VERSION = "2.1.3+dfsg1-2";

/** The lines of tcp_in.c in that version that no packet can reach: first, last and reason. */
const OUT_OF_REACH: readonly (readonly [first: number, last: number, reason: string])[] = [
  [193, 225, "the glue hands over each packet in one piece, with all options"],
  [242, 244, "an IP packet is too short for that"],
  [259, 261, "nothing is bound to an interface"],
  [293, 294, "likewise"],
  [323, 325, "likewise"],
  [337, 341, "every listener takes both versions of IP"],
  [425, 436, "the glue takes all that arrives"],
  [472, 472, "its callbacks abort no connection"],
  [506, 510, "likewise"],
  [516, 523, "the glue takes all that arrives"],
  [536, 536, "likewise"],
  [545, 545, "its callbacks abort no connection"],
  [552, 552, "likewise"],
  [565, 565, "likewise"],
  [949, 952, "likewise"],
  [1453, 1457, "a packet is one piece"],
  [1916, 1917, "likewise"],
  [2072, 2075, "nobody calls it"],
];

function isOutOfReach({ number }: Line): boolean {
  return OUT_OF_REACH.some(([first, last]) => first <= number && number <= last);
}

Deno.test("damaged packets of a peer, done again with sanitizers → nothing is found, and they run more than 90 % of the lines that read TCP", async () => {
  assert.equal(LWIP.version, VERSION, "Look through the lines that are out of reach.");
  await using native = await NativeStack.compile();
  for (
    const [seed, isFiltered] of [[1, false], [2, false], [3, true], [4, false], [5, false]] as const
  ) {
    const recordTo = join(native.folder, `storm-${seed}`);
    await Storm.run({ seed, packets: PACKETS, isFiltered, recordTo });
    const calls = await native.replay(recordTo);
    assert.ok(calls > PACKETS / 4, `${calls} calls`);
  }
  const all = await native.lines("src/core/tcp_in.c");
  assert.deepEqual(all.filter((line) => isOutOfReach(line) && line.ran), []);
  const lines = all.filter((line) => !isOutOfReach(line));
  const share = lines.filter(({ ran }) => ran).length / lines.length;
  console.log(`tcp_in.c: ${(100 * share).toFixed(1)} % of ${lines.length} of ${all.length} lines`);
  assert.ok(share > LEAST, String(share));
});
