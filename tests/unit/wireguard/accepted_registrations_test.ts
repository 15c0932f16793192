import assert from "node:assert/strict";
import fc from "fast-check";
import type { Operation, Platform } from "../../../supabase/functions/_shared/operation.ts";
import { encodeBase64 } from "../../../supabase/functions/_shared/wireguard/base64.ts";
import {
  isWithin,
  parseIpv4,
  parseIpv6,
} from "../../../supabase/functions/_shared/wireguard/ip_address.ts";
import { renderWgQuick } from "../../../supabase/functions/_shared/wireguard/wg_quick.ts";
import { createOperation as createPeerRegister } from "../../../supabase/functions/agent-mesh/routes/peer_register.ts";
import { createOperation as createRulePut } from "../../../supabase/functions/agent-mesh/routes/rule_put.ts";
import {
  type MeshSettings,
  readMeshSettings,
} from "../../../supabase/functions/agent-mesh/settings.ts";
import { unknownLines } from "./line_grammar.ts";
import { aliceState, configurationOf, meshNetworks, peerState } from "./states.ts";

/** What register_peer is called with. */
interface Registration {
  readonly agent_id: string;
  readonly pubkey: string;
  readonly endpoint: string | null;
  readonly endpoint_ip: string | null;
  readonly listen_port: number | null;
}

/** What put_rule is called with. */
interface Rule {
  readonly port: number;
  readonly proto: string;
}

const settings = readMeshSettings(
  new Map([["SUPABASE_URL", "http://127.0.0.1"], ["SUPABASE_SERVICE_ROLE_KEY", "none"]]),
);

const INJECTIONS = [
  "\nPostUp = id",
  "\r\n[Peer]\n",
  ";id;",
  "$(id)",
  "\u2028",
  "\0",
  "#",
  "%i",
  " ",
];

const hostileRegistrations = fc.record({
  agent_id: spoilt(fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}$/)),
  pubkey: spoilt(fc.uint8Array({ minLength: 32, maxLength: 32 }).map(encodeBase64)),
  endpoint: fc.option(spoilt(
    fc.tuple(
      fc.oneof(
        fc.ipV4(),
        fc.ipV4Extended(),
        fc.ipV6().map((address) => `[${address}]`),
        fc.domain(),
        fc.stringMatching(/^[A-Za-z0-9._-]{1,260}$/),
      ),
      fc.integer({ min: 0, max: 65536 }),
    ).map(([host, port]) => `${host}:${port}`),
  )),
  listen_port: fc.option(ports(), { nil: undefined }),
});

const hostileRules = fc.record({
  from_agent: fc.constant("bob"),
  to_agent: fc.constant("alice"),
  port: ports(),
  proto: spoilt(fc.constantFrom("tcp", "udp")),
});

Deno.test("whatever /peer/register and /acl/put accept → a configuration of known lines, its own and the neighbour's", async () => {
  let accepted = 0;
  await fc.assert(
    fc.asyncProperty(hostileRegistrations, hostileRules, async (hostile, hostileRule) => {
      const registration = await passedOn<Registration>(createPeerRegister, hostile);
      if (registration === null || liesInsideTheMesh(registration)) return;
      accepted++;
      const rule = await passedOn<Rule>(createRulePut, hostileRule);
      const { agent_id, pubkey, endpoint, listen_port } = registration;
      const inbound_rules = rule === null ? [] : [{ proto: rule.proto, port: rule.port }];
      const states = [
        aliceState({ peers: [peerState(2, { agent_id, pubkey, endpoint, inbound_rules })] }),
        aliceState({ agent_id, listen_port, peers: [peerState(2)] }),
      ];
      for (const state of states) {
        const text = renderWgQuick(configurationOf(state));
        assert.deepEqual(unknownLines(text), []);
        assert.equal(text.match(/^\[Peer\]$/gm)?.length, 1);
      }
    }),
    { numRuns: 2_000 },
  );
  assert.ok(accepted > 300, `only ${accepted} were accepted: that shows little`);
});

/** Mostly well-formed, so that what is hostile in one field is not refused for another. */
function spoilt(wellFormed: fc.Arbitrary<string>): fc.Arbitrary<string> {
  return fc.oneof(
    { weight: 8, arbitrary: wellFormed },
    { weight: 1, arbitrary: fc.string({ unit: "binary" }) },
    {
      weight: 1,
      arbitrary: fc.tuple(wellFormed, fc.constantFrom(...INJECTIONS), fc.nat(60)).map(
        ([text, injection, at]) => text.slice(0, at) + injection + text.slice(at),
      ),
    },
  );
}

function ports(): fc.Arbitrary<unknown> {
  return fc.oneof(
    { weight: 8, arbitrary: fc.integer({ min: 1, max: 65535 }) },
    { weight: 1, arbitrary: fc.constantFrom(0, 65536, -1, 0.5, 2 ** 32 + 1, NaN, "51820", null) },
  );
}

/** What an operation hands to the database for this body; null when it refuses the body. */
async function passedOn<Parameters>(
  operationOf: (platform: Platform<MeshSettings>) => Operation,
  body: unknown,
): Promise<Parameters | null> {
  let parameters: unknown = null;
  const { request, handle } = operationOf({
    settings,
    callDatabase<Result>(_name: string, given: Readonly<Record<string, unknown>>) {
      parameters = given;
      return Promise.resolve({} as Result);
    },
  });
  const parsed = request.safeParse(body);
  if (!parsed.success) return null;
  await handle({
    input: parsed.data,
    caller: { kind: "operator", request_id: "test" },
    request: new Request("http://127.0.0.1"),
  });
  return parameters as Parameters;
}

/** What register_peer itself refuses: only the database knows the networks. */
function liesInsideTheMesh({ endpoint_ip }: Registration): boolean {
  const address = parseIpv4(endpoint_ip ?? "") ?? parseIpv6(endpoint_ip ?? "");
  return address !== null && meshNetworks.some((network) => isWithin(address, network));
}
