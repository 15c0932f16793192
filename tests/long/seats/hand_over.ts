/**
 * The hand-over of every seat: one agent puts a file, another gets it, and one request is refused.
 */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { leavesUnchanged, listed, publish } from "../../conformance/artifacts.ts";
import { type Agent, createAgent, SUPABASE_URL } from "../../conformance/client.ts";

export const KEY = "plans/plan.bin";
export const SIZE = 300_001;

/** The input of a seat's program, as JSON. */
export interface Given {
  readonly url: string;
  readonly planner: Pick<Agent, "id" | "key">;
  readonly builder: Pick<Agent, "id" | "key">;
  /** A stranger's artifact, which builder tries to get. */
  readonly closedId: string;
  /** The file that planner puts for builder. Its byte `i` is `(i * 31 + (i >> 8)) & 255`. */
  readonly file: { readonly key: string; readonly size: number };
}

/** The output of a seat's program, as JSON. */
export interface Outcome {
  readonly version: string;
  /** The digest of the bytes that builder received. */
  readonly sha256: string;
  /** The sender in builder's inbox. */
  readonly from: string;
  /** The refusal's code, after its status if the client shows one. */
  readonly refused: string;
}

/** The program was not found on this machine. The message names the places that were searched. */
export class NotHereError extends Error {}

/** The bytes that planner puts. */
export function content(): Uint8Array<ArrayBuffer> {
  return new Uint8Array(SIZE).map((_, index) => index * 31 + (index >> 8));
}

/** Lets a seat hand over a file, and asserts the result. Returns the program's version. */
export async function handOverBy(run: (given: Given) => Promise<Outcome>): Promise<string> {
  const [planner, builder, stranger] = [
    await createAgent("planner"),
    await createAgent("builder"),
    await createAgent("stranger"),
  ];
  const closed = await publish(stranger);
  const expected = createHash("sha256").update(content()).digest("hex");
  let version = "";
  await leavesUnchanged([stranger], async () => {
    const outcome = await run({
      url: SUPABASE_URL,
      planner,
      builder,
      closedId: closed.artifact_id,
      file: { key: KEY, size: SIZE },
    });
    version = outcome.version;
    assert.match(outcome.refused, /^(404 )?artifact_not_found$/);
    assert.deepEqual([outcome.sha256, outcome.from], [expected, planner.id]);
  });
  // Check what the service has, independently of the seat's output.
  const kept = (await listed(planner)).map(({ key, size, sha256 }) => ({ key, size, sha256 }));
  assert.deepEqual(kept, [{ key: KEY, size: SIZE, sha256: expected }]);
  return version;
}
