/** Rules of peers: versions never go back; an address or a public key belongs to one agent. */
import {
  didHappen,
  entriesOf,
  type Entry,
  mayHappen,
  type Rule,
  type Violation,
} from "../history.ts";

interface ShownPeer {
  readonly agent_id: string;
  readonly pubkey: string;
  readonly addresses: readonly string[];
}

/**
 * An answer never has a smaller config_version of an agent than an answer that ended before it
 * began.
 */
export const versionsNeverGoBack: Rule = (history) => {
  const violations: Violation[] = [];
  const told = history.filter((entry) =>
    entry.operation.startsWith("/agent-mesh/") && didHappen(entry) &&
    typeof entry.answer?.["config_version"] === "number"
  );
  for (const entries of Map.groupBy(told, ({ agent }) => agent).values()) {
    const byEnd = entries.toSorted((a, b) => a.end - b.end);
    let newest: Entry | null = null;
    let next = 0;
    for (const entry of entries.toSorted((a, b) => a.start - b.start)) {
      for (; byEnd[next] !== undefined && byEnd[next]!.end < entry.start; next++) {
        if (newest === null || versionOf(byEnd[next]!) > versionOf(newest)) newest = byEnd[next]!;
      }
      if (newest !== null && versionOf(entry) < versionOf(newest)) {
        violations.push({ rule: "a config_version went back", entries: [newest, entry] });
      }
    }
  }
  return violations;
};

/** Each config_version of an agent has exactly one text. */
export const oneTextPerVersion: Rule = (history) => {
  const configs = entriesOf(history, "/agent-mesh/wg_config").filter(didHappen);
  const versions = Map.groupBy(configs, (entry) => `${entry.agent} ${versionOf(entry)}`);
  return [...versions.values()].flatMap(([first, ...others]) => {
    const other = others.find(({ answer }) => answer!["config"] !== first!.answer!["config"]);
    return other === undefined
      ? []
      : [{ rule: "one config_version has two texts", entries: [first!, other] }];
  });
};

/**
 * An address belongs to one agent for the whole run. Addresses of a removed peer are not reused
 * that soon.
 */
export const addressesAreUnique: Rule = (history) => {
  const violations: Violation[] = [];
  const holders = new Map<string, { agent: string; entry: Entry }>();
  for (const entry of history.filter(didHappen)) {
    for (const { agent_id, addresses } of peersIn(entry)) {
      for (const address of addresses) {
        const holder = holders.get(address);
        if (holder === undefined) holders.set(address, { agent: agent_id, entry });
        else if (holder.agent !== agent_id) {
          violations.push({ rule: "an address is two agents'", entries: [holder.entry, entry] });
        }
      }
    }
  }
  return violations;
};

/** A public key belongs to one agent until that agent may have given it up. */
export const pubkeysAreUnique: Rule = (history) => {
  const registrations = entriesOf(history, "/agent-mesh/peer/register").filter(mayHappen);
  const removals = entriesOf(history, "/agent-mesh/peer/remove").filter(mayHappen);
  const violations: Violation[] = [];
  const byKey = Map.groupBy(registrations.filter(didHappen), ({ request }) => request["pubkey"]);
  for (const holders of byKey.values()) {
    for (const first of holders) {
      for (const second of holders) {
        if (second.agent === first.agent || second.start <= first.end) continue;
        const givesUp = (entry: Entry) =>
          entry.agent === first.agent && entry.start < second.end &&
          (!didHappen(entry) || entry.end > first.start);
        const isGivenUp = removals.some(givesUp) ||
          registrations.some((entry) =>
            entry.request["pubkey"] !== first.request["pubkey"] && givesUp(entry)
          );
        if (!isGivenUp) {
          violations.push({ rule: "a public key is two agents'", entries: [first, second] });
        }
      }
    }
  }
  for (const map of entriesOf(history, "/agent-mesh/netmap").filter(didHappen)) {
    const pubkeys = peersIn(map).map(({ pubkey }) => pubkey);
    if (new Set(pubkeys).size < pubkeys.length) {
      violations.push({ rule: "a map has a public key twice", entries: [map] });
    }
  }
  return violations;
};

function versionOf({ answer }: Entry): number {
  return Number(answer!["config_version"]);
}

/** The peers that an answer contains. */
function peersIn({ operation, answer }: Entry): ShownPeer[] {
  if (operation === "/agent-mesh/peer/register") return [answer as unknown as ShownPeer];
  return operation === "/agent-mesh/netmap" ? answer!["peers"] as unknown as ShownPeer[] : [];
}
