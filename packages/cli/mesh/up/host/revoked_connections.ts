/** TCP connections of this host that its firewall does not let through any more. */
import { run } from "../basics/programs.ts";
import type { Wanted } from "../wanted/accept.ts";

type Peers = Pick<Wanted, "peers">;

/** How many connections one call of `ss` selects. */
const MOST_TERMS = 100;

/**
 * Terms of `ss`: the connections of a peer that is gone, and those to ports of this host that a
 * peer may not reach any more.
 */
export function revokedTerms(before: Peers | null, { peers }: Peers): string[] {
  const now = new Map(peers.map((peer) => [peer.ipv4, peer]));
  return (before?.peers ?? []).flatMap(({ ipv4, ipv6, rules }) => {
    const peer = now.get(ipv4);
    const from = (rest: string) => [`( dst ${ipv4}${rest} )`, `( dst [${ipv6}]${rest} )`];
    if (peer === undefined) return from("");
    return rules.filter(({ proto, port }) =>
      proto === "tcp" && !peer.rules.some((rule) => rule.proto === proto && rule.port === port)
    ).flatMap(({ port }) => from(` and sport = :${port}`));
  });
}

/**
 * Ends these connections: their programs get an error. Otherwise they would wait for ever, because
 * the peer's reset does not come through either. Needs CONFIG_INET_DIAG_DESTROY, which the kernels
 * of the distributions have. Never throws: the firewall has closed the rule already.
 */
export async function endRevoked(before: Peers | null, wanted: Peers): Promise<void> {
  const terms = revokedTerms(before, wanted);
  for (let at = 0; at < terms.length; at += MOST_TERMS) {
    const filter = terms.slice(at, at + MOST_TERMS).join(" or ").split(" ");
    await run("ss", ["-K", "-H", "-n", "-t", ...filter]).catch(() => {});
  }
}
