/** What peers tried without a rule, as the tunnel's firewall counts it. */
import type { SentRefusal } from "../../../../agent-peer/service.ts";
import { run } from "../basics/programs.ts";
import type { WantedPeer } from "../wanted/accept.ts";
import { REFUSED } from "../wanted/ruleset.ts";
import { isInteger } from "../wanted/values.ts";

/** The most that a heartbeat accepts. */
const MOST_KINDS = 16;
const MOST_ATTEMPTS = 1_000_000_000;

/** Resolves to what was counted since the last call, the most frequent first. Throws an Error. */
export async function takeRefused(
  table: string,
  peers: readonly WantedPeer[],
): Promise<readonly SentRefusal[]> {
  const listed: string[] = [];
  for (const name of REFUSED) {
    listed.push(await run("nft", ["-j", "list", "set", "inet", table, name]));
  }
  const refused = listed.flatMap((text) => refusedIn(text, peers))
    .sort((one, other) => other.attempts - one.attempts).slice(0, MOST_KINDS);
  if (refused.length > 0) {
    const input = REFUSED.map((name) => `flush set inet ${table} ${name}\n`).join("");
    await run("nft", ["-f", "-"], { input });
  }
  return refused;
}

interface Listed {
  readonly nftables?: readonly {
    readonly set?: {
      readonly elem?: readonly {
        readonly elem?: {
          readonly val?: { readonly concat?: readonly unknown[] };
          readonly counter?: { readonly packets?: unknown };
        };
      }[];
    };
  }[];
}

/** What the JSON of a set says. Only of known peers. */
export function refusedIn(listed: string, peers: readonly WantedPeer[]): SentRefusal[] {
  const { nftables = [] } = JSON.parse(listed) as Listed;
  return nftables.flatMap(({ set }) => set?.elem ?? []).flatMap(({ elem }) => {
    const [address, proto, port] = elem?.val?.concat ?? [];
    const packets = elem?.counter?.packets;
    const peer = peers.find(({ ipv4, ipv6 }) => ipv4 === address || ipv6 === address);
    if (peer === undefined || proto !== "tcp" && proto !== "udp") return [];
    if (!isInteger(port, 1, 65_535) || !isInteger(packets, 1, Number.MAX_SAFE_INTEGER)) return [];
    const attempts = Math.min(packets, MOST_ATTEMPTS);
    return [{ agent_id: peer.agentId, port, proto, attempts }];
  });
}
