import assert from "node:assert/strict";
import { AgentError } from "../../errors/agent_error.ts";
import { WaitLength } from "../../http/wait_length.ts";

const BROKEN = new AgentError({ code: "network_error", message: "Broken.", retryable: true });
const TIMED_OUT = new AgentError({
  code: "unexpected_answer",
  message: "HTTP 504",
  status: 504,
  retryable: true,
});

Deno.test("a wait that was cut off → the next is shorter than what was cut; after ten that were not, a longer one is tried", () => {
  for (const error of [BROKEN, TIMED_OUT]) {
    const length = new WaitLength();
    assert.equal(length.seconds, 140);
    length.failed(60.2, error);
    assert.equal(length.seconds, 54);
    length.failed(30, error);
    assert.equal(length.seconds, 27);
    for (let count = 0; count < 9; count++) length.answered(27.1);
    // An answer with news comes early, so it does not count.
    length.answered(3);
    assert.equal(length.seconds, 27);
    length.answered(27.1);
    assert.equal(length.seconds, 41);
    for (let count = 0; count < 40; count++) length.answered(140);
    assert.equal(length.seconds, 140);
  }
});

Deno.test("a wait that failed at once, was refused, or has failed after its whole time → asked for as long again, or for less", () => {
  const length = new WaitLength();
  length.failed(2, BROKEN);
  for (const code of ["upstream_unavailable", "rate_limited", "unauthenticated"] as const) {
    length.failed(60, new AgentError({ code, message: "No.", retryable: code[0] !== "u" }));
  }
  for (const code of ["upstream_unavailable", "maintenance"] as const) {
    length.failed(60, new AgentError({ code, message: "", retryable: true }));
  }
  assert.equal(length.seconds, 140);
  length.failed(170, BROKEN);
  assert.equal(length.seconds, 126, "nothing came after the answer was due");
});

Deno.test("a refusal of wait_seconds → 50, once; of another field → as before", () => {
  const refusal = (path: string) =>
    new AgentError({
      code: "invalid_request",
      message: "Wrong.",
      details: { issues: [{ path, message: "Wrong." }] },
    });
  const length = new WaitLength();
  assert.equal(length.isTooLong(refusal("after")), false);
  assert.equal(length.isTooLong(refusal("wait_seconds")), true);
  assert.equal(length.seconds, 50);
  assert.equal(length.isTooLong(refusal("wait_seconds")), false);
  assert.equal(new WaitLength(20).isTooLong(refusal("wait_seconds")), false);
});
