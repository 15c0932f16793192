/** Applies policies in a separate database per test file. */
import type { MeshDatabase } from "../mesh/mesh_database.ts";

export interface Line {
  readonly from: string;
  readonly to: string;
  readonly ports?: readonly number[];
  readonly proto?: "tcp" | "udp";
}

export interface Plan {
  readonly fingerprint: string;
  readonly rules: { readonly added: number; readonly removed: number };
  readonly gained: { readonly rules: number; readonly pairs: number };
  readonly lost: { readonly rules: number; readonly pairs: number };
  readonly changed_agents: number;
  readonly agents: readonly string[];
  readonly tags: Readonly<Record<string, readonly string[]>>;
}

export interface Applied {
  readonly added: number;
  readonly removed: number;
  readonly changed_agents: number;
  readonly remaining: number;
}

/** A policy as the SQL functions take it. Each call gives it another source. */
export function policyOf(lines: readonly Line[], agents: readonly string[] = []) {
  return {
    source: `// ${crypto.randomUUID()}`,
    rules: lines.map(({ from, to, ports = [443], proto = "tcp" }) => ({
      from: [from],
      to: [to],
      ports,
      proto,
    })),
    agents,
  };
}

export type Policy = ReturnType<typeof policyOf>;

export function plan(mesh: MeshDatabase, policy: Policy): Promise<Plan> {
  return mesh.call("plan_policy", { policy });
}

export function apply(
  mesh: MeshDatabase,
  { policy, expect, max_changes = 10_000 }: {
    policy: Policy;
    expect: string;
    max_changes?: number;
  },
): Promise<Applied> {
  return mesh.call("apply_policy", { policy, expect, max_changes });
}

/** Plans and applies these lines, whichever policy is in force. */
export async function putInForce(mesh: MeshDatabase, lines: readonly Line[]): Promise<Applied> {
  const policy = policyOf(lines);
  return await apply(mesh, { policy, expect: (await plan(mesh, policy)).fingerprint });
}

export function setTags(mesh: MeshDatabase, agent_id: string, ...tags: string[]) {
  return mesh.call<{ tags: string[] }>("set_agent_tags", { agent_id, tags });
}

/** Every rule, as `from to proto port origin active`, in byte order. */
export async function rulesOf(mesh: MeshDatabase): Promise<string[]> {
  const rows = await mesh.owner`
    select concat_ws(
      ' ', from_agent, to_agent, proto, port, origin, case when active then 'active' else 'request' end
    ) as rule
    from mesh.rules
    order by from_agent, to_agent, proto, port`;
  return rows.map((row) => row["rule"]);
}

/** The config_version of each agent that has one. */
export async function versionsOf(mesh: MeshDatabase): Promise<Record<string, number>> {
  const rows = await mesh.owner`select agent_id, version from mesh.config_versions`;
  return Object.fromEntries(rows.map((row) => [row["agent_id"], Number(row["version"])]));
}

/** The state that a refusal must not change: rules, versions, pairs, tags, the policy, events. */
export async function stateOf(mesh: MeshDatabase): Promise<unknown> {
  const [row] = await mesh.owner`
    select
      (select json_agg(r order by r.from_agent, r.to_agent, r.proto, r.port) from mesh.rules r) as rules,
      (select json_agg(v order by v.agent_id) from mesh.config_versions v) as versions,
      (select json_agg(p order by p.low_agent, p.high_agent) from mesh.pairs p) as pairs,
      (select json_agg(t order by t.agent_id, t.tag) from agents.agent_tags t) as tags,
      (select json_agg(p) from mesh.policies p) as policy,
      (select json_agg(l order by l.from_name, l.to_name, l.proto, l.port) from mesh.policy_lines l) as lines,
      (select count(*)::integer from agents.events) as events`;
  return row;
}

/** Deletes the mesh, every tag and the policy. */
export async function startOver(mesh: MeshDatabase): Promise<void> {
  await mesh.startOver();
  await mesh
    .owner`truncate mesh.policies, mesh.policy_lines, agents.agent_tags, agents.enrolled_agents,
      agents.names`;
}
