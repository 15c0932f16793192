/** Rules of maps: a map shows exactly the rules that both sides agreed to. */
import { didHappen, entriesOf, type Entry, mayHappen, type Rule } from "../history.ts";

interface ShownRule {
  readonly from_agent: string;
  readonly to_agent: string;
  readonly port: number;
  readonly proto: string;
}

/** A map shows a rule as active only if the consent of each side may hold when the map is read. */
export const revokedRulesAreNotShown: Rule = (history) => {
  const puts = entriesOf(history, "/agent-mesh/acl/put").filter(mayHappen);
  const ends = [
    ...entriesOf(history, "/agent-mesh/acl/revoke"),
    ...entriesOf(history, "/agent-mesh/peer/remove"),
  ].filter(didHappen);

  function mayConsent(agent: string, rule: ShownRule, map: Entry): boolean {
    return puts.some((put) =>
      put.agent === agent && isSameRule(put.request, rule) && put.start < map.end &&
      !(didHappen(put) &&
        ends.some((end) => endsRule(end, rule) && put.end < end.start && end.end < map.start))
    );
  }

  return entriesOf(history, "/agent-mesh/netmap").filter(didHappen).flatMap((map) =>
    (map.answer!["acls"] as unknown as ShownRule[])
      .filter((rule) =>
        !mayConsent(rule.from_agent, rule, map) || !mayConsent(rule.to_agent, rule, map)
      )
      .map((rule) => ({
        rule: `a map shows a rule without consent: ${JSON.stringify(rule)}`,
        entries: [...ends.filter((end) => endsRule(end, rule)), map],
      }))
  );
};

/** A map shows another peer only together with an active rule between the two agents. */
export const peersAreSharedByRule: Rule = (history) =>
  entriesOf(history, "/agent-mesh/netmap").filter(didHappen).flatMap((map) => {
    const rules = map.answer!["acls"] as unknown as ShownRule[];
    const reachable = new Set(rules.flatMap(({ from_agent, to_agent }) => [from_agent, to_agent]));
    const peers = map.answer!["peers"] as unknown as { agent_id: string; self: boolean }[];
    return peers.some(({ agent_id, self }) => !self && !reachable.has(agent_id))
      ? [{ rule: "a map shows a peer without a rule", entries: [map] }]
      : [];
  });

function endsRule({ operation, agent, request }: Entry, rule: ShownRule): boolean {
  return operation === "/agent-mesh/peer/remove"
    ? agent === rule.from_agent || agent === rule.to_agent
    : isSameRule(request, rule);
}

function isSameRule(request: Entry["request"], rule: ShownRule): boolean {
  return request["from_agent"] === rule.from_agent && request["to_agent"] === rule.to_agent &&
    request["port"] === rule.port && request["proto"] === rule.proto;
}
