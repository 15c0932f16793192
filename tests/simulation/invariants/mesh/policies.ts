import type { Heard, Known } from "../../known/known.ts";
import { ruleName } from "../../known/mesh/mesh.ts";
import type { Invariant } from "../../registry.ts";
import type { World } from "../../world/world.ts";

function newRegistrations({ history, policies }: Known): readonly Heard[] {
  const unseen = history.slice(policies.lookedAt);
  policies.lookedAt = history.length;
  return unseen.filter(({ operation, status, agent }) =>
    operation === "/agent-artifacts/register" && status === 200 && policies.quotas.has(agent)
  );
}

/** Files that have expired count until the sweep, but not for a refusal. */
function heldBytes({ database }: World, agent: string): number {
  const [row] = database.read(
    `select coalesce(sum(size_bytes), 0) as held from artifacts.artifacts
    where agent_id = $1 and ended_at is null and state <> 'deleted'
      and expires_at > clock_timestamp()`,
    [agent],
  );
  return Number(row!["held"]);
}

/** The only quota that was in force from `start` on; null: there were several, or no limit. */
function onlyQuota({ policies }: Known, { agent, start }: Heard): number | null {
  const [quota, ...others] = policies.quotaOf(agent).possible(start, Infinity);
  return others.length > 0 ? null : quota!;
}

export const POLICIES: readonly Invariant[] = [
  {
    name: "the policy's rules are those of the policy in force, and of the agents' tags",
    look({ database }, { policies }) {
      if (!policies.isUsed) return [];
      const present = database.read(
        `select from_agent || ' > ' || to_agent || ':' || port as name
        from mesh.rules where policy_since is not null`,
      ).map(({ name }) => name!);
      const allowed = policies.rules(false);
      return [
        ...present.filter((name) => !allowed.has(name)).map((name) => `nobody allows ${name}`),
        ...[...policies.rules(true)].filter((name) => !present.includes(name))
          .map((name) => `the policy has ${name}`),
      ];
    },
  },
  {
    name: "nobody revokes a rule that the policy has",
    hear({ operation, status, request, start, end }, { policies }) {
      if (operation !== "/agent-mesh/acl/revoke" || status !== 200) return null;
      const { from_agent, to_agent, port } = request;
      const name = ruleName(String(from_agent), String(to_agent), Number(port));
      return policies.isUsed && policies.rules(true, start, end).has(name) ? name : null;
    },
  },
  {
    name: "no registration is answered that goes beyond its agent's quota",
    look(world, known) {
      return newRegistrations(known).flatMap((entry) => {
        const quota = onlyQuota(known, entry);
        if (quota === null || known.hasDatabaseGoneBack) return [];
        const held = heldBytes(world, entry.agent);
        return held > quota ? [`${entry.agent} has ${held} bytes, more than ${quota}`] : [];
      });
    },
  },
];
