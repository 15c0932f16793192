import type { Known } from "../../known/known.ts";
import { type Mesh, MOST_RULES, ruleName, type View } from "../../known/mesh/mesh.ts";
import type { Invariant } from "../../registry.ts";

/** Looks at each view once, when it is new. */
function newViews({ mesh }: Known): readonly View[] {
  return mesh.views.slice(mesh.lookedAt.views);
}

/** Whether the PSK of a pair may have changed between the moments of two views. */
function mayDiffer({ rotations }: Mesh, one: View, other: View): boolean {
  const [first, last] = [Math.min(one.start, other.start), Math.max(one.end, other.end)];
  return rotations.some(({ agents, start, end }) =>
    start < last && end > first && agents.every((name) => name === one.host || name === other.host)
  );
}

function unequalPsks(view: View, { mesh }: Known): readonly string[] {
  return mesh.views.filter((other) => {
    const psks = [view.peers.get(other.host)?.psk, other.peers.get(view.host)?.psk];
    return psks.every((psk) => psk !== undefined) && psks[0] !== psks[1] &&
      !mayDiffer(mesh, view, other);
  }).map(({ host }) => `${view.host} and ${host} have different PSKs`);
}

function oldEndpoints({ host, peers, start, end }: View, { mesh }: Known): readonly string[] {
  return [...peers].filter(([name, { endpoint }]) =>
    endpoint !== null && !mesh.endpointOf(name).possible(start, end).includes(endpoint)
  ).map(([name, { endpoint }]) => `${host} has ${endpoint} for ${name}`);
}

/** Whether two agents may share, or with `surely` must share, a rule. */
function share(known: Known, { host, start, end }: View, other: string, surely: boolean): boolean {
  const isRule = (rule: string) => {
    const possible = known.mesh.rules.get(rule)?.possible(start, end) ?? [];
    return possible.length > 0 && (surely ? possible.every(Boolean) : possible.some(Boolean));
  };
  const names = [...known.mesh.rules.keys()].filter((rule) => isOf(rule, host, other));
  return names.some(isRule) ||
    [...known.policies.rules(surely, start, end)].some((rule) => isOf(rule, host, other));
}

function isOf(rule: string, one: string, other: string): boolean {
  return rule.startsWith(ruleName(one, other, 0).slice(0, -1)) ||
    rule.startsWith(ruleName(other, one, 0).slice(0, -1));
}

function missingPeers(view: View, known: Known): readonly string[] {
  return [...known.mesh.endpoints].filter(([name, endpoint]) =>
    name !== view.host && !view.peers.has(name) &&
    !endpoint.possible(view.start, view.end).includes(undefined) &&
    share(known, view, name, true)
  ).map(([name]) => `${view.host} does not have ${name}`);
}

export const HOSTS: readonly Invariant[] = [
  {
    name: "both sides of a pair are told the same PSK",
    look: (_world, known) => newViews(known).flatMap((view) => unequalPsks(view, known)),
  },
  {
    name: "no host is told an endpoint that a newer one had replaced",
    look: (_world, known) => newViews(known).flatMap((view) => oldEndpoints(view, known)),
  },
  {
    name: "no configuration has a peer without a rule",
    look: (_world, known) =>
      newViews(known).flatMap((view) =>
        [...view.peers.keys()].filter((name) => !share(known, view, name, false))
          .map((name) => `${view.host} has ${name}`)
      ),
  },
  {
    name: "each configuration has the peers that share a rule with it",
    look: (_world, known) => newViews(known).flatMap((view) => missingPeers(view, known)),
  },
  {
    name: "no map has where a host was seen, once a newer heartbeat was answered",
    look(_world, { mesh }) {
      const unseen = mesh.reported.slice(mesh.lookedAt.reported);
      mesh.lookedAt = { views: mesh.views.length, reported: mesh.reported.length };
      return unseen.filter(({ reporter, other, endpoint, start, end }) =>
        !mesh.pathOf(reporter, other).possible(start, end).includes(endpoint)
      ).map(({ reporter, other, endpoint }) => `${reporter} sees ${other} at ${endpoint}`);
    },
  },
  {
    name: "no agent has more rules than the project lets agents agree to",
    look({ database }, { mesh }) {
      if (mesh.rules.size === 0) return [];
      return database.read(
        `select a.agent_id || ' has ' || count(*) || ' rules' as broken
        from mesh.rules r cross join lateral (values (r.from_agent), (r.to_agent)) a (agent_id)
        where r.active and r.policy_since is null
        group by a.agent_id having count(*) > ${MOST_RULES}`,
      ).map(({ broken }) => broken!);
    },
  },
];
