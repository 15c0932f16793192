/** Simultaneous downloads of one grant, through every kind of request. */
import assert from "node:assert/strict";
import {
  artifactTest,
  type Cast,
  givenGrants,
  grant,
  open,
  publish,
  redeem,
} from "../../conformance/artifacts.ts";
import { functionUrl } from "../../conformance/client.ts";

const AT_ONCE = 32;
const MAX_DOWNLOADS = 5;

/** The outcome of one request: `given`, or the error's code. */
type Outcome = string;

async function followLink(token: string): Promise<Outcome> {
  const response = await fetch(functionUrl(`/agent-artifacts/d/${token}`), { redirect: "manual" });
  const text = await response.text();
  return response.status === 302 ? "given" : JSON.parse(text).error.code;
}

function outcomeOf({ status, body }: { status: number; body: unknown }): Outcome {
  return status === 200 ? "given" : (body as { error: { code: string } }).error.code;
}

/** Repeats a request as long as the answer is 503, as the contract requires. */
async function settled(ask: () => Promise<Outcome>): Promise<Outcome> {
  for (;;) {
    const outcome = await ask();
    if (outcome !== "upstream_unavailable") return outcome;
  }
}

async function race({ planner, builder }: Cast, artifact: { artifact_id: string }) {
  const terms = { to: builder, max_downloads: MAX_DOWNLOADS };
  const { grant_id, token } = await grant(planner, artifact, terms);
  const ways = [
    async () => outcomeOf(await redeem(token)),
    async () => outcomeOf(await open(builder, artifact)),
    () => followLink(token),
  ];
  const outcomes = await Promise.all(
    Array.from({ length: AT_ONCE }, (_, index) => settled(ways[index % ways.length]!)),
  );
  const { grants } = await givenGrants(planner, { limit: 1000 });
  const { downloads } = grants.find((entry) => entry.grant_id === grant_id)!;
  return { outcomes: outcomes.sort(), downloads };
}

/** A test in which downloads of one grant race, `rounds` times. */
export function raceTest(rounds: number): void {
  artifactTest(
    `${AT_ONCE} of /fetch, /open and /d at once, of a grant with max_downloads ${MAX_DOWNLOADS}, ${rounds} times → ${MAX_DOWNLOADS} each time`,
    async (cast) => {
      const artifact = await publish(cast.planner);
      const expected = {
        outcomes: [
          ...Array.from({ length: MAX_DOWNLOADS }, () => "given"),
          ...Array.from({ length: AT_ONCE - MAX_DOWNLOADS }, () => "grant_used_up"),
        ],
        downloads: MAX_DOWNLOADS,
      };
      for (let round = 0; round < rounds; round++) {
        assert.deepEqual(await race(cast, artifact), expected, `round ${round}`);
      }
    },
  );
}
