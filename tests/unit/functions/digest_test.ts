import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { ServiceError } from "../../../supabase/functions/_shared/request/errors.ts";
import {
  digestObject,
  type DigestOptions,
} from "../../../supabase/functions/agent-artifacts/storage/digest.ts";
import type { ObjectStore } from "../../../supabase/functions/agent-artifacts/storage/object_store.ts";

const CHUNK_BYTES = 1000;
const BYTES = new Uint8Array(10 * CHUNK_BYTES).map((_, index) => index % 251);
const SHA256 = createHash("sha256").update(BYTES).digest("hex");
const OBJECT = { id: "an-id", version: "a-version", size: BYTES.length };

/** A store whose only object is BYTES, sent in chunks. */
const store = {
  describe: () => Promise.resolve(OBJECT),
  read(_path, { range = { start: 0, end: BYTES.length } }) {
    let sent = range.start;
    return Promise.resolve(
      new ReadableStream({
        type: "bytes",
        pull(controller) {
          const next = BYTES.slice(sent, Math.min(sent + CHUNK_BYTES, range.end));
          sent += next.length;
          if (next.length > 0) controller.enqueue(next);
          if (sent === range.end) controller.close();
        },
      }),
    );
  },
} as Partial<ObjectStore> as ObjectStore;

const options: DigestOptions = {
  expectedSize: BYTES.length,
  known: OBJECT,
  isJustMoved: true,
  progress: null,
  maxBytesPerCall: BYTES.length,
  maxMillisecondsPerCall: 60_000,
  signal: new AbortController().signal,
};

/** The time limit is exceeded after the first chunk. */
const NO_TIME = { maxMillisecondsPerCall: -1 };

Deno.test("digestObject() of an object that fits into one call → size and digest, read at once or in parts", async () => {
  const whole = { complete: true, size: BYTES.length, sha256: SHA256 };
  for (const isJustMoved of [true, false]) {
    assert.deepEqual(await digestObject(store, "p", { ...options, isJustMoved }), whole);
  }
});

Deno.test("digestObject() at once, without time → upstream_unavailable; the next calls read it in parts, to the end", async () => {
  await assert.rejects(
    digestObject(store, "p", { ...options, ...NO_TIME }),
    (error) => error instanceof ServiceError && error.code === "upstream_unavailable",
  );
  let progress: DigestOptions["progress"] = null;
  for (let call = 1; call < BYTES.length / CHUNK_BYTES; call++) {
    const observed = await digestObject(store, "p", {
      ...options,
      ...NO_TIME,
      isJustMoved: false,
      progress,
    });
    assert.ok(!observed.complete);
    assert.equal(observed.verified_bytes, call * CHUNK_BYTES);
    assert.equal(`${observed.object_id} ${observed.object_version}`, "an-id a-version");
    progress = observed;
  }
  const last = { ...options, ...NO_TIME, isJustMoved: false, progress };
  assert.deepEqual(await digestObject(store, "p", last), {
    complete: true,
    size: BYTES.length,
    sha256: SHA256,
  });
});
