import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { Issuer } from "../conformance/enrolment/issuer.ts";
import { makeWrongTokens } from "../conformance/enrolment/wrong_tokens.ts";

const LATER_SECONDS = 1_000;
const TIMES = ["iat", "nbf", "exp"];
/** Values that mean the same at any time. */
const TIMELESS = new Set([0, -1, 1e300]);

function timesOf(token: string): Record<string, number> {
  try {
    const claims = JSON.parse(Buffer.from(token.split(".")[1]!, "base64url").toString());
    const times = TIMES.map((name) => [name, claims[name]] as const);
    return Object.fromEntries(times.filter(([, value]) => typeof value === "number"));
  } catch {
    return {};
  }
}

Deno.test("conformance's wrong tokens, made long after their list → each has the times of when it was made", async () => {
  const issuer = await Issuer.create("https://issuer.example.com");
  const right = { aud: "https://agents.example.com", owner_id: "1", ref: "refs/heads/main" };
  const wrong = await makeWrongTokens(issuer, right);
  const clock = Date.now;
  let compared = 0;
  for (const { name, make } of wrong) {
    const at = clock();
    try {
      Date.now = () => at;
      const first = timesOf(await make());
      Date.now = () => at + LATER_SECONDS * 1000;
      const later = timesOf(await make());
      for (const [time, value] of Object.entries(first)) {
        if (TIMELESS.has(value)) continue;
        assert.equal(later[time], value + LATER_SECONDS, `${time} of "${name}"`);
        compared++;
      }
    } finally {
      Date.now = clock;
    }
  }
  assert.ok(compared > wrong.length, String(compared));
});
