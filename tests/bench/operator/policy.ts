/** The costs of a policy, for the agents that it concerns and for the other agents. */
import { performance } from "node:perf_hooks";
import type postgres from "postgres";
import { callAsService } from "../../database/connection.ts";
import { agentKeyOf, peerIdOf, sha256 } from "../fill/cast.ts";
import { median } from "../load/timing.ts";

export interface PolicySize {
  /** The tags of the policy. Each tag has the same number of agents. */
  readonly tags: number;
  readonly agents: number;
  /** How many other tags an agent with one tag may reach. */
  readonly reach: number;
}

export interface PolicyCosts {
  readonly rules: number;
  readonly plan_ms: number;
  /** One time for each transaction. */
  readonly apply_ms: readonly number[];
  /** Giving an agent a tag of the policy. */
  readonly tag_ms: number;
  /** Applying an empty policy: one time for each transaction. */
  readonly end_ms: readonly number[];
  /** Calls of agents that the policy does not name: before the policy, beside it, and the ratio. */
  readonly others: readonly {
    readonly call: string;
    readonly before_ms: number;
    readonly beside_ms: number;
    readonly ratio: number;
  }[];
}

interface Step {
  readonly added: number;
  readonly remaining: number;
}

/** Measures in a filled database. Its peers 0 to 4 have agent keys and are not in the policy. */
export async function measurePolicy(
  sql: postgres.Sql,
  { tags, agents, reach }: PolicySize,
): Promise<PolicyCosts> {
  await makeFleet(sql, { tags, agents });
  const before = await timeOthers(sql);
  const rules = Array.from({ length: tags }, (_, index) => ({
    from: [`tag:t-${index}`],
    to: Array.from({ length: reach }, (_, step) => `tag:t-${(index + step + 1) % tags}`),
    ports: [443],
    proto: "tcp",
  }));
  const policy = { source: "{}", rules };
  const [plan, planned] = await timed(() =>
    callAsService<{ fingerprint: string; rules: { added: number } }>(sql, "plan_policy", { policy })
  );
  const apply_ms = await applyWhole(sql, policy, planned.fingerprint);
  await sql`analyze mesh.rules`;
  const beside = await timeOthers(sql);
  const [tag_ms] = await timed(() =>
    callAsService(sql, "set_agent_tags", { agent_id: "fleet-new", tags: ["tag:t-0"] })
  );
  const empty = { source: "empty", rules: [] };
  const { fingerprint } = await callAsService<{ fingerprint: string }>(sql, "plan_policy", {
    policy: empty,
  });
  return {
    rules: planned.rules.added,
    plan_ms: plan,
    apply_ms,
    tag_ms,
    end_ms: await applyWhole(sql, empty, fingerprint),
    others: Object.entries(before).map(([call, before_ms]) => ({
      call,
      before_ms,
      beside_ms: beside[call]!,
      ratio: beside[call]! / before_ms,
    })),
  };
}

/** Creates registered agents with one tag each. */
async function makeFleet(
  sql: postgres.Sql,
  { tags, agents }: Pick<PolicySize, "tags" | "agents">,
): Promise<void> {
  await sql`
    insert into agents.agent_tags (agent_id, tag)
    select 'fleet-' || i, 'tag:t-' || i % ${tags}::integer
    from generate_series(0, ${agents}::integer - 1) i`;
  await sql`
    select public.agent_api_register_peer(
      '{"kind": "operator"}', 'fleet-' || i,
      encode(sha256(convert_to('fleet-' || i, 'UTF8')), 'base64'), null, null, null, 90
    )
    from generate_series(0, ${agents}::integer - 1) i`;
}

/** Applies the whole policy. Returns how long each transaction took. */
async function applyWhole(sql: postgres.Sql, policy: object, expect: string): Promise<number[]> {
  const times: number[] = [];
  for (;;) {
    const [time, step] = await timed(() =>
      callAsService<Step>(sql, "apply_policy", { policy, expect })
    );
    times.push(time);
    if (step.remaining === 0) return times;
  }
}

const ROUNDS = 101;

async function timeOthers(sql: postgres.Sql): Promise<Record<string, number>> {
  const agent_id = peerIdOf(0);
  const caller = { kind: "agent", key_hash: sha256(agentKeyOf(agent_id)), request_id: "bench" };
  const rule = { from_agent: agent_id, to_agent: peerIdOf(1), port: 443, proto: "tcp" };
  const calls: [string, string, Record<string, unknown>][] = [
    ["/netmap", "read_netmap", { caller, agent_id, online_seconds: 90 }],
    ["/wg_config", "read_wg_config", { caller, agent_id }],
    ["/acl/put", "put_rule", { caller, ...rule }],
  ];
  const times: Record<string, number> = {};
  for (const [name, functionName, parameters] of calls) {
    const all: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const [time] = await timed(() => callAsService(sql, functionName, parameters));
      all.push(time);
    }
    times[name] = median(all);
  }
  return times;
}

async function timed<Result>(run: () => Promise<Result>): Promise<[number, Result]> {
  const began = performance.now();
  const result = await run();
  return [performance.now() - began, result];
}
