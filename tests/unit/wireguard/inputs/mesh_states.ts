import fc from "fast-check";
import { parseEndpoint } from "../../../../supabase/functions/_shared/operations/addresses/endpoint.ts";
import type {
  MeshState,
  PeerState,
} from "../../../../supabase/functions/agent-mesh/wireguard/mesh_configuration.ts";
import { agentIds, protocols } from "./hostile_fields.ts";
import { aliceState, meshNetworks, peerState } from "./states.ts";

const acceptableEndpoint = fc.tuple(
  fc.oneof(fc.ipV4(), fc.ipV6().map((address) => `[${address}]`), fc.domain()),
  fc.integer({ min: 1, max: 65535 }),
).map(([host, port]) => `${host}:${port}`)
  .filter((endpoint) => parseEndpoint(endpoint, meshNetworks).ok);

const acceptableEndpoints = fc.oneof(
  fc.constant({ endpoint: null, further_endpoints: [] }),
  fc.record({
    endpoint: acceptableEndpoint,
    further_endpoints: fc.array(acceptableEndpoint, { maxLength: 3 }),
  }),
);

const rules = fc.uniqueArray(
  fc.record({ proto: protocols, port: fc.integer({ min: 1, max: 65535 }) }),
  { maxLength: 30, selector: ({ proto, port }) => `${proto} ${port}` },
);

/** Any state that the database could hold, with up to 20 peers. */
export const meshStates: fc.Arbitrary<MeshState> = fc.record({
  agent_id: agentIds,
  listen_port: fc.option(fc.integer({ min: 1, max: 65535 })),
  peers: fc.uniqueArray(
    fc.tuple(fc.record({ agent_id: agentIds, inbound_rules: rules }), acceptableEndpoints)
      .map(([peer, endpoints]) => ({ ...peer, ...endpoints })),
    { maxLength: 20, selector: ({ agent_id }) => agent_id },
  ).map((peers): PeerState[] => peers.map((peer, index) => peerState(index + 2, peer))),
}).map(aliceState);
