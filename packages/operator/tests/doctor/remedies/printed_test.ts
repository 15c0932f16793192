import assert from "node:assert/strict";
import { describeFindings, fault, shell, sql } from "../../../doctor/findings/finding.ts";
import { pastesIn } from "./printed.ts";

Deno.test("pastesIn() of two findings, one with two paragraphs → both, each where it is pasted", () => {
  const first = sql("update a set b = 1;\n\nupdate c set d = 2;");
  const second = shell("echo done");
  const printed = describeFindings([
    fault("one", "It is wrong.", "Do this.", first),
    fault("two", "It is wrong, too.", "Do that.", second),
  ]);
  assert.deepEqual(pastesIn(printed), [first, second]);
});
