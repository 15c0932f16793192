/**
 * How much a bystander is slowed by five agents that abuse the service, compared with five agents
 * that do not.
 */
import { agentKeyOf, artifactIdOf, HOARDER, OWNER, peerIdOf, READER } from "../fill/cast.ts";
import { type AnswerCounts, besideCrowd, type CrowdMember } from "../load/crowd.ts";
import { type BenchRequest, load, type LoadResult } from "../load/load.ts";
import { median } from "../load/timing.ts";
import type { FilledStack } from "./operations.ts";

/** Connections of each member of the crowd. */
const CONNECTIONS = 16;
const WARM_UP_MILLISECONDS = 3_000;
/** How much slower a bystander may be beside abusers than beside good neighbours. */
const MAX_RATIO = 3;

/** The p50s of a bystander, in milliseconds, as medians of the turns. */
export interface Fairness {
  readonly operation: string;
  readonly besideGoodNeighbours: number;
  readonly besideAbusers: number;
  readonly ratio: number;
  /** How many of the bystander's requests were refused once. */
  readonly repeated: number;
}

/** The answers to the members of both crowds, summed over the turns. */
export type CrowdAnswers = ReadonlyMap<string, AnswerCounts>;

interface Bystander {
  readonly operation: string;
  readonly request: BenchRequest;
}

function requestOf(agentId: string, path: string, body: object): BenchRequest {
  return { path, headers: { authorization: `Bearer ${agentKeyOf(agentId)}` }, body };
}

/** The bystanders' peer is far from the peers of the crowds in the ring of the filled mesh. */
function bystanders({ size }: FilledStack): readonly Bystander[] {
  const peer = peerIdOf(Math.floor(size.peers / 2));
  return [
    {
      operation: "/peer/heartbeat",
      request: requestOf(peer, "/agent-mesh/peer/heartbeat", { agent_id: peer }),
    },
    {
      operation: "/list",
      request: requestOf(OWNER, "/agent-artifacts/list", { agent_id: OWNER, limit: 10 }),
    },
  ];
}

function member(name: string, next: CrowdMember["next"]): CrowdMember {
  return { name, connections: CONNECTIONS, next };
}

/** Each abuser makes expensive calls, which the rules of the service allow, as fast as it can. */
const ABUSERS: readonly CrowdMember[] = [
  member("grants of a second", (number) =>
    requestOf(HOARDER, "/agent-artifacts/grant", {
      // Use so many artifacts that no artifact exceeds its limit of live grants.
      artifact_id: artifactIdOf(10 * (number % 90) + 5),
      to_agent: "victim",
      expires_at: new Date(Date.now() + 1_500).toISOString(),
    })),
  member(
    "acl storm with a victim",
    (number) =>
      requestOf(peerIdOf(0), `/agent-mesh/acl/${number % 2 === 0 ? "put" : "revoke"}`, {
        from_agent: peerIdOf(0),
        to_agent: peerIdOf(1),
        port: 1_000 + Math.floor(number / 2) % 1_000,
        proto: "udp",
      }),
  ),
  member(
    "rotate storm",
    () => requestOf(peerIdOf(10), "/agent-mesh/psk/rotate", { a: peerIdOf(10), b: peerIdOf(11) }),
  ),
  member(
    "list flood",
    () => requestOf(HOARDER, "/agent-artifacts/list", { agent_id: HOARDER, limit: 1000 }),
  ),
  member(
    "opens of one file",
    () => requestOf(HOARDER, "/agent-artifacts/open", { artifact_id: artifactIdOf(15) }),
  ),
];

/** Equally many connections of agents that make ordinary calls, each for its own things. */
const GOOD_NEIGHBOURS: readonly CrowdMember[] = [
  member("heartbeats", (number) => {
    const agentId = peerIdOf(60 + number % CONNECTIONS);
    return requestOf(agentId, "/agent-mesh/peer/heartbeat", { agent_id: agentId });
  }),
  member(
    "maps",
    (number) => requestOf(peerIdOf(80 + number % CONNECTIONS), "/agent-mesh/netmap", {}),
  ),
  member(
    "lists",
    () => requestOf(HOARDER, "/agent-artifacts/list", { agent_id: HOARDER, limit: 20 }),
  ),
  member("inboxes", () => requestOf(READER, "/agent-artifacts/inbox", { agent_id: READER })),
  member("opens of many files", (number) =>
    requestOf(HOARDER, "/agent-artifacts/open", {
      artifact_id: artifactIdOf(10 * (number % 90) + 5),
    })),
];

/** The crowds take turns, so that other load on the machine falls on both. */
export async function measureFairness(
  filled: FilledStack,
  { turns, calls }: { readonly turns: number; readonly calls: number },
): Promise<{ readonly figures: readonly Fairness[]; readonly answers: CrowdAnswers }> {
  const answers = new Map<string, Record<string, number>>();
  const p50s = new Map<string, { good: number[]; abusers: number[]; repeated: number }>();
  await preparePairs(filled);
  for (let turn = 0; turn < turns; turn++) {
    for (const [kind, crowd] of [["good", GOOD_NEIGHBOURS], ["abusers", ABUSERS]] as const) {
      const beside = await besideCrowd(
        { origin: filled.stack.url, crowd, warmUpMilliseconds: WARM_UP_MILLISECONDS },
        () => askAsBystander(filled, calls),
      );
      for (const [operation, { p50, repeated }] of beside.result) {
        const known = p50s.get(operation) ?? { good: [], abusers: [], repeated: 0 };
        known[kind].push(p50);
        known.repeated += repeated;
        p50s.set(operation, known);
      }
      addUp(answers, beside.answers);
    }
  }
  const figures = Array.from(p50s, ([operation, { good, abusers, repeated }]) => ({
    operation,
    besideGoodNeighbours: median(good),
    besideAbusers: median(abusers),
    ratio: median(abusers) / median(good),
    repeated,
  }));
  return { figures, answers };
}

/** Measures each operation with one connection that waits for each answer. */
async function askAsBystander(
  filled: FilledStack,
  calls: number,
): Promise<ReadonlyMap<string, LoadResult>> {
  const measured = new Map<string, LoadResult>();
  for (const { operation, request } of bystanders(filled)) {
    measured.set(operation, await load(filled.stack.url, Array(calls).fill(request), 1));
  }
  return measured;
}

/** A pair can rotate only if it has a PSK. The database checks the form of this one. */
async function preparePairs({ stack }: FilledStack): Promise<void> {
  await stack.sql`
    update mesh.pairs set encrypted_psk = 'v1.0000000000000000.AAAA', made_at = now()
    where low_agent = ${peerIdOf(10)} and high_agent = ${peerIdOf(11)}`;
}

function addUp(sums: Map<string, Record<string, number>>, counts: CrowdAnswers): void {
  for (const [name, ofMember] of counts) {
    const sum = sums.get(name) ?? {};
    for (const [status, count] of Object.entries(ofMember)) {
      sum[status] = (sum[status] ?? 0) + count;
    }
    sums.set(name, sum);
  }
}

/** One line for each operation and one for each member of the crowds. */
export function describeFairness(
  { figures, answers }: Awaited<ReturnType<typeof measureFairness>>,
): string[] {
  return [
    ...figures.map(({ operation, besideGoodNeighbours, besideAbusers, ratio, repeated }) =>
      `${ratio <= MAX_RATIO ? "met        " : "falls short"}  a bystander's ${operation}: p50 ` +
      `${besideAbusers.toFixed(0)} ms beside abusers, ${besideGoodNeighbours.toFixed(0)} ms ` +
      `beside good neighbours: ${ratio.toFixed(2)} (goal ≤ ${MAX_RATIO})` +
      (repeated === 0 ? "" : `, ${repeated} refused once`)
    ),
    ...Array.from(answers, ([name, counts]) => `${name}: ${JSON.stringify(counts)}`),
  ];
}
