import assert from "node:assert/strict";
import { diagnoseNetwork, type NetcheckFacts } from "../../mesh/probe/network_diagnosis.ts";

const RELAY = {
  transport: "udp",
  isByProxy: false,
  server: "192.0.2.1:3478",
  works: true,
  reason: null,
} as const;

const WELL: NetcheckFacts = {
  clockSeconds: 0,
  serviceError: null,
  relayIsSet: true,
  localAddresses: ["192.168.1.2"],
  udpWorks: true,
  seenAt: "198.51.100.2:51820",
  nat: "port_restricted",
  relays: [RELAY],
};

const fails = (reason: string) =>
  [
    { ...RELAY, works: false, reason },
    { ...RELAY, transport: "tls", works: false, reason },
  ] as const;
const tls = { ...RELAY, transport: "tls" } as const;
const SILENT = { udpWorks: false, seenAt: null, nat: null };
const ALONE = { relays: [], relayIsSet: false };

/** Facts, the cause, whether a path will be possible, and a part of the sentence. */
const CASES: readonly (readonly [Partial<NetcheckFacts>, string, boolean, RegExp])[] = [
  [{}, "none", true, /directly, the others by the relay/],
  [{ nat: "symmetric" }, "none", true, /symmetric NAT.*by the relay/],
  [{ nat: "none" }, "none", true, /public address/],
  [{ nat: null }, "none", true, /UDP and the relay work/],
  [{ clockSeconds: -172_800 }, "clock", false, /2 days behind the service's\. Set it/],
  [{ clockSeconds: 299 }, "none", true, /./],
  [{ serviceError: "Connection refused" }, "no_service", false, /reached: Connection refused\./],
  [{ ...SILENT, localAddresses: [], relays: [] }, "no_network", false, /no network/],
  [{ ...SILENT, relays: fails("ENETUNREACH") }, "no_network", false, /no route/],
  [{ ...SILENT, relays: fails("no answer") }, "blocked", false, /192\.0\.2\.1:3478 is not reached/],
  [{ ...SILENT, relays: [tls] }, "udp_blocked", true, /by TLS, but slower/],
  [
    { ...SILENT, relays: [{ ...tls, isByProxy: true }] },
    "udp_blocked",
    true,
    /by TLS through the proxy/,
  ],
  [{ relays: fails("no answer") }, "relay_fails", true, /by UDP no answer; by TLS no answer/],
  [{ relays: fails("no answer"), nat: "symmetric" }, "relay_fails", false, /operator/],
  [ALONE, "no_relay", true, /peers behind symmetric NAT are not reached/],
  [{ ...ALONE, nat: "symmetric" }, "no_relay", false, /Let the operator set a relay/],
  [{ ...ALONE, ...SILENT }, "blocked", false, /UDP is blocked here, and no relay is set/],
  [{ ...ALONE, udpWorks: null, nat: null }, "not_tested", false, /Give --stun-server/],
  [{ ...ALONE, udpWorks: null, relayIsSet: null }, "not_tested", false, /has not joined/],
];

for (const [facts, cause, works, sentence] of CASES) {
  Deno.test(`mesh netcheck of ${JSON.stringify(facts)} → ${cause}, ${works ? 0 : 1}`, () => {
    const diagnosis = diagnoseNetwork({ ...WELL, ...facts });
    assert.deepEqual([diagnosis.cause, diagnosis.works], [cause, works]);
    assert.match(diagnosis.sentence, sentence);
  });
}
