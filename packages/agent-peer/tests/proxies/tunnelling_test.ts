import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { splice } from "../../mesh/proxies/tunnelling.ts";

Deno.test("splice() of a stream that was destroyed before → the other one is destroyed, too", () => {
  for (const isFirst of [true, false]) {
    const [gone, open] = [new PassThrough(), new PassThrough()];
    gone.destroy();
    if (isFirst) splice(gone, open);
    else splice(open, gone);
    assert.ok(open.destroyed);
  }
});
