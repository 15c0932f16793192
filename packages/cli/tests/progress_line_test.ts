import assert from "node:assert/strict";
import { durationOf, progressLine } from "../terminal/progress_line.ts";
import { TransferRate } from "../terminal/transfer_rate.ts";

const MEBIBYTE = 1024 ** 2;
const HALF = {
  name: "plan.txt",
  phase: "upload",
  bytes: 50 * MEBIBYTE,
  size: 100 * MEBIBYTE,
  bytesPerSecond: 5 * MEBIBYTE,
  columns: 100,
} as const;

Deno.test("progressLine() with room → bar, share, bytes, rate, remaining time", () => {
  assert.equal(
    progressLine(HALF),
    "uploading plan.txt  ████████████░░░░░░░░░░░░  50%  50.0 MiB  5.0 MiB/s  0:10 left",
  );
  const { bytesPerSecond: _, ...rest } = HALF;
  assert.equal(
    progressLine({ ...rest, bytesPerSecond: null }),
    "uploading plan.txt  ████████████░░░░░░░░░░░░  50%  50.0 MiB",
  );
});

Deno.test("progressLine() of any name in any number of columns → never as wide as the terminal", () => {
  const names = ["a", "plan.txt", "x".repeat(300), "計画書".repeat(40), "\x1b[31m\n\u202ex"];
  for (const name of names) {
    for (let columns = 12; columns <= 200; columns++) {
      for (const [bytes, bytesPerSecond] of [[0, null], [1, 0], [50 * MEBIBYTE, 1]] as const) {
        const line = progressLine({ ...HALF, name, columns, bytes, bytesPerSecond });
        const wide = Array.from(line.matchAll(/[\u3000-\u9fff]/g)).length;
        assert.ok([...line].length + wide < columns, `${columns}: ${line}`);
        assert.match(line, /\d%/);
        // deno-lint-ignore no-control-regex
        assert.doesNotMatch(line, /[\x00-\x1f\u202e]/);
      }
    }
  }
});

Deno.test("progressLine() in 40 columns → the most important part stays", () => {
  const line = progressLine({ ...HALF, columns: 40 });
  assert.match(line, /^uploading plan\.txt {2}[█░]{8,} {2}50%/);
});

for (
  const [seconds, text] of [[0, "0:00"], [59, "0:59"], [600, "10:00"], [7500, "2:05:00"]] as const
) {
  Deno.test(`durationOf(${seconds}) → ${text}`, () => assert.equal(durationOf(seconds), text));
}

Deno.test("TransferRate → over the last five seconds, and none at the beginning", () => {
  const rate = new TransferRate();
  assert.equal(rate.perSecond(0, 0), null);
  assert.equal(rate.perSecond(100, 400), null);
  assert.equal(rate.perSecond(1000, 1000), 1000);
  for (let second = 2; second <= 10; second++) {
    rate.perSecond(1000 + (second - 1) * 10, second * 1000);
  }
  assert.equal(rate.perSecond(1100, 11_000), 10, "the fast beginning is forgotten");
  assert.equal(rate.perSecond(0, 11_100), null, "a new attempt begins at nothing");
});
