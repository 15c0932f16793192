import assert from "node:assert/strict";
import { revokedTerms } from "../../mesh/up/host/revoked_connections.ts";
import type { Wanted } from "../../mesh/up/wanted/accept.ts";

type Rules = Wanted["peers"][number]["rules"];

const peers = (...each: [number, Rules][]) =>
  ({
    peers: each.map(([number, rules]) => ({
      ipv4: `10.213.0.${number}`,
      ipv6: `fd00::${number}`,
      rules,
    })),
  }) as unknown as Wanted;

const [HTTP, HTTPS] = [{ proto: "tcp", port: 80 }, { proto: "tcp", port: 443 }] as const;
const DNS = { proto: "udp", port: 53 } as const;

Deno.test("a rule for TCP that is gone → the peer's connections to that port, by both addresses", () => {
  assert.deepEqual(revokedTerms(peers([2, [HTTP, HTTPS, DNS]]), peers([2, [HTTPS]])), [
    "( dst 10.213.0.2 and sport = :80 )",
    "( dst [fd00::2] and sport = :80 )",
  ]);
});

Deno.test("a peer that is gone → all its connections; what stays or is new → none", () => {
  const before = peers([2, [HTTP]], [3, [HTTP]]);
  assert.deepEqual(revokedTerms(before, peers([3, [HTTP, HTTPS]], [4, []])), [
    "( dst 10.213.0.2 )",
    "( dst [fd00::2] )",
  ]);
  assert.deepEqual(revokedTerms(before, before), []);
  assert.deepEqual(revokedTerms(null, before), []);
});
