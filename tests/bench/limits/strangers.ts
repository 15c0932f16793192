/**
 * How much a bystander is slowed by connections that ask for expensive things as fast as they can.
 */
import { agentKeyOf, HOARDER, OWNER, READER } from "../fill/cast.ts";
import { type AnswerCounts, besideCrowd, type CrowdMember } from "../load/crowd.ts";
import { load } from "../load/load.ts";
import { median } from "../load/timing.ts";
import type { FilledStack } from "../parts/operations.ts";

const CONNECTIONS = 32;
const WARM_UP_MILLISECONDS = 3_000;
const MAX_RATIO = 3;

/** The p50s of a bystander's /list, in milliseconds, as medians of the turns. */
export interface Disturbance {
  readonly by: string;
  readonly alone: number;
  readonly beside: number;
  readonly ratio: number;
  readonly answers: AnswerCounts;
}

const CROWDS: readonly CrowdMember[] = [
  {
    name: "GET /openapi.json without a credential",
    connections: CONNECTIONS,
    next: () => ({ path: "/agent-artifacts/openapi.json", headers: {}, body: null }),
  },
  {
    name: "GET /health without a credential",
    connections: CONNECTIONS,
    next: () => ({ path: "/agent-artifacts/health", headers: {}, body: null }),
  },
  {
    name: "MCP tools/list of one key",
    connections: CONNECTIONS,
    next: (id) => ({
      path: "/agent-artifacts/mcp",
      headers: {
        authorization: `Bearer ${agentKeyOf(HOARDER)}`,
        accept: "application/json, text/event-stream",
      },
      body: { jsonrpc: "2.0", id, method: "tools/list" },
    }),
  },
  {
    name: "for comparison, /inbox of one key",
    connections: CONNECTIONS,
    next: () => ({
      path: "/agent-artifacts/inbox",
      headers: { authorization: `Bearer ${agentKeyOf(READER)}` },
      body: {},
    }),
  },
];

/**
 * Measures with the default rate limits. Each turn measures the bystander alone, then beside a
 * crowd.
 */
export async function measureStrangers(
  { stack }: FilledStack,
  { turns, calls }: { readonly turns: number; readonly calls: number },
): Promise<Disturbance[]> {
  const asBystander = async () => {
    const request = {
      path: "/agent-artifacts/list",
      headers: { authorization: `Bearer ${agentKeyOf(OWNER)}` },
      body: { agent_id: OWNER, limit: 10 },
    };
    return (await load(stack.url, Array(calls).fill(request), 1)).p50;
  };
  await asBystander();
  const figures: Disturbance[] = [];
  for (const member of CROWDS) {
    const alone: number[] = [];
    const besides: number[] = [];
    let answers: AnswerCounts = {};
    for (let turn = 0; turn < turns; turn++) {
      alone.push(await asBystander());
      const beside = await besideCrowd(
        { origin: stack.url, crowd: [member], warmUpMilliseconds: WARM_UP_MILLISECONDS },
        asBystander,
      );
      besides.push(beside.result);
      answers = beside.answers.get(member.name)!;
    }
    figures.push({
      by: member.name,
      alone: median(alone),
      beside: median(besides),
      ratio: median(besides) / median(alone),
      answers,
    });
  }
  return figures;
}

/** One line for each crowd. */
export function describeStrangers(figures: readonly Disturbance[]): string[] {
  return figures.map(({ by, alone, beside, ratio, answers }) =>
    `${ratio <= MAX_RATIO ? "met        " : "falls short"}  a bystander's /list beside ` +
    `${CONNECTIONS} connections of ${by}: p50 ${beside.toFixed(1)} ms, alone ` +
    `${alone.toFixed(1)} ms: ${ratio.toFixed(2)} (goal ≤ ${MAX_RATIO}); answers ` +
    JSON.stringify(answers)
  );
}
