import assert from "node:assert/strict";
import fc from "fast-check";
import type {
  Operation,
  Platform,
} from "../../../supabase/functions/_shared/operations/operation.ts";
import { UNLIMITED } from "../../../supabase/functions/_shared/request/limits/rate_limits.ts";
import { encodeBase64 } from "../../../supabase/functions/_shared/identity/encryption/base64.ts";
import {
  isWithin,
  parseIpv4,
  parseIpv6,
} from "../../../supabase/functions/_shared/operations/addresses/ip_address.ts";
import { renderWgQuick } from "../../../supabase/functions/agent-mesh/wireguard/wg_quick.ts";
import { createOperation as createPeerRegister } from "../../../supabase/functions/agent-mesh/routes/peer_register.ts";
import { createOperation as createRulePut } from "../../../supabase/functions/agent-mesh/routes/rule_put.ts";
import {
  type MeshSettings,
  readMeshSettings,
} from "../../../supabase/functions/agent-mesh/settings.ts";
import { agentIds, endpoints, ports, protocols, spoilt } from "./inputs/hostile_fields.ts";
import { unknownLines } from "./inputs/line_grammar.ts";
import { aliceState, configurationOf, meshNetworks, peerState } from "./inputs/states.ts";

/** The arguments of register_peer. */
interface Registration {
  readonly agent_id: string;
  readonly pubkey: string;
  readonly endpoint: string | null;
  readonly endpoint_ip: string | null;
  readonly further_endpoints: readonly string[];
  readonly further_endpoint_ips: readonly (string | null)[];
  readonly listen_port: number | null;
}

/** The arguments of put_rule. */
interface Rule {
  readonly port: number;
  readonly proto: string;
}

const settings = readMeshSettings(
  new Map([["SUPABASE_URL", "http://127.0.0.1"], ["SUPABASE_SERVICE_ROLE_KEY", "none"]]),
);

const hostileRegistrations = fc.record({
  agent_id: spoilt(agentIds),
  pubkey: spoilt(fc.uint8Array({ minLength: 32, maxLength: 32 }).map(encodeBase64)),
  endpoint: fc.option(spoilt(endpoints)),
  further: fc.array(spoilt(endpoints), { maxLength: 3 }),
  listen_port: fc.option(hostilePorts(), { nil: undefined }),
}).map(({ endpoint, further, ...rest }) =>
  endpoint === null || further.length === 0
    ? { ...rest, endpoint }
    : { ...rest, endpoints: [endpoint, ...further] }
);

const hostileRules = fc.record({
  from_agent: fc.constant("bob"),
  to_agent: fc.constant("alice"),
  port: hostilePorts(),
  proto: spoilt(protocols),
});

Deno.test("whatever /peer/register and /acl/put accept → known lines in its own configuration and in its peer's", async () => {
  let accepted = 0;
  await fc.assert(
    fc.asyncProperty(hostileRegistrations, hostileRules, async (hostile, hostileRule) => {
      const registration = await passedOn<Registration>(createPeerRegister, hostile);
      if (registration === null || liesInsideTheMesh(registration)) return;
      accepted++;
      const rule = await passedOn<Rule>(createRulePut, hostileRule);
      const { agent_id, pubkey, endpoint, further_endpoints, listen_port } = registration;
      const inbound_rules = rule === null ? [] : [{ proto: rule.proto, port: rule.port }];
      const states = [
        aliceState({
          peers: [peerState(2, { agent_id, pubkey, endpoint, further_endpoints, inbound_rules })],
        }),
        aliceState({ agent_id, listen_port, peers: [peerState(2)] }),
      ];
      for (const state of states) {
        const text = renderWgQuick(configurationOf(state));
        assert.deepEqual(unknownLines(text), []);
        assert.equal(text.match(/^\[Peer\]$/gm)?.length, 1);
      }
    }),
    { numRuns: 1_000 },
  );
  // About one in seven is accepted.
  assert.ok(accepted > 75, `only ${accepted} were accepted: too few to show anything`);
});

/** Ports. Some of these values are not numbers at all. */
function hostilePorts(): fc.Arbitrary<unknown> {
  return fc.oneof({ weight: 9, arbitrary: ports }, {
    weight: 1,
    arbitrary: fc.constantFrom("51820", null),
  });
}

/** The parameters that an operation passes to the database; null if it refuses the body. */
async function passedOn<Passed>(
  operationOf: (platform: Platform<MeshSettings>) => Operation,
  body: unknown,
): Promise<Passed | null> {
  let parameters: unknown = null;
  const { request, handle } = operationOf({
    settings,
    callDatabase<Result>(_name: string, given: Readonly<Record<string, unknown>>) {
      parameters = given;
      return Promise.resolve({} as Result);
    },
    relayDatabase(_name: string, given: Readonly<Record<string, unknown>>) {
      parameters = given;
      return Promise.resolve(Response.json({}));
    },
  });
  const parsed = request.safeParse(body);
  if (!parsed.success) return null;
  await handle({
    input: parsed.data,
    caller: { kind: "operator", request_id: "test" },
    request: new Request("http://127.0.0.1"),
    slot: UNLIMITED,
  });
  return parameters as Passed;
}

/**
 * The function accepts these; register_peer refuses them, as only the database knows the networks.
 */
function liesInsideTheMesh({ endpoint_ip, further_endpoint_ips }: Registration): boolean {
  return [endpoint_ip, ...further_endpoint_ips].some((ip) => {
    const address = parseIpv4(ip ?? "") ?? parseIpv6(ip ?? "");
    return address !== null && meshNetworks.some((network) => isWithin(address, network));
  });
}
