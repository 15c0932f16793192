import { peerIdOf, pubkeyOf } from "../fill/cast.ts";
import { type BenchOperation, type Call, type FilledStack, freshNumbers } from "./operations.ts";

const ONLINE_SECONDS = 90;
const LIMITS = { max_rules: 10_000, max_requests: 1000, max_requests_per_target: 1000 };
const OPERATOR = { kind: "operator", request_id: "bench" };

/** How many peers each operation has to itself, counted from the middle of the ring. */
const ROOM = 10;

/**
 * A peer near the middle of the ring, in the range (`room`) of one operation. No operation changes
 * the map of another operation's peers.
 */
function peerIn(room: number, { size }: FilledStack, index: number): string {
  return peerIdOf(Math.floor(size.peers / 2) + (room - 2) * 2 * ROOM + index % ROOM);
}

function mesh(
  name: string,
  operation: Omit<BenchOperation, "name" | "functionName">,
): BenchOperation {
  return { name, functionName: "agent-mesh", ...operation };
}

/** Reads by ten peers in turn. */
function reads(room: number, parameters: Record<string, unknown>) {
  return (filled: FilledStack, count: number): Promise<Call[]> =>
    Promise.resolve(Array.from({ length: count }, (_, index) => {
      const agent = peerIn(room, filled, index);
      return {
        agent,
        body: { agent_id: agent },
        parameters: { agent_id: agent, ...parameters },
      };
    }));
}

function rules(filled: FilledStack, count: number, proto: string) {
  return freshNumbers(count).map((number) => ({
    from_agent: peerIn(0, filled, number),
    to_agent: peerIn(0, filled, number + 1),
    port: 1_000 + number % 60_000,
    proto,
  }));
}

export const MESH_OPERATIONS: readonly BenchOperation[] = [
  mesh("/peer/register", {
    floor: { kind: "rpc", rpc: "register_peer" },
    calls: (filled, count) =>
      Promise.resolve(
        freshNumbers(count).map((number) => {
          const agent = peerIn(4, filled, number);
          const peer = {
            agent_id: agent,
            pubkey: pubkeyOf(agent),
            endpoint: `198.51.100.1:${1_000 + number % 60_000}`,
          };
          return {
            agent,
            body: peer,
            parameters: {
              ...peer,
              endpoint_ip: "198.51.100.1",
              listen_port: null,
              online_seconds: ONLINE_SECONDS,
            },
          };
        }),
      ),
  }),
  mesh("/peer/heartbeat", {
    floor: { kind: "rpc", rpc: "record_heartbeat" },
    calls: reads(3, { config_version: null }),
  }),
  mesh("/peer/remove", {
    floor: { kind: "rpc", rpc: "remove_peer" },
    maxCalls: 300,
    async calls({ stack }, count) {
      const agents = freshNumbers(count).map((number) => `passing-${number}`);
      await stack.sql`
        select public.agent_api_register_peer(${stack.sql.json(OPERATOR)}, agent_id,
          encode(sha256(convert_to(agent_id, 'UTF8')), 'base64'), null, null, null, 90)
        from unnest(${agents}::text[]) agent_id`;
      return agents.map((agent_id) => ({
        agent: null,
        body: { agent_id },
        parameters: { agent_id },
      }));
    },
  }),
  mesh("/netmap of 10 neighbours", {
    floor: { kind: "rpc", rpc: "read_netmap" },
    calls: reads(2, { online_seconds: ONLINE_SECONDS }),
  }),
  mesh("/wg_config of 10 neighbours", {
    floor: { kind: "rpc", rpc: "read_wg_config" },
    calls: reads(2, {}),
  }),
  mesh("/acl/put", {
    floor: { kind: "rpc", rpc: "put_rule" },
    calls: (filled, count) =>
      Promise.resolve(
        rules(filled, count, "udp").map((rule) => ({
          agent: rule.from_agent,
          body: rule,
          parameters: { ...rule, ...LIMITS },
        })),
      ),
  }),
  mesh("/acl/revoke", {
    floor: { kind: "rpc", rpc: "revoke_rule" },
    async calls(filled, count) {
      const put = rules(filled, count, "udp");
      await filled.stack.sql`
        insert into mesh.rules ${
        filled.stack.sql(put.map((rule) => ({ ...rule, from_agreed_at: new Date() })))
      }`;
      return put.map((rule) => ({ agent: rule.from_agent, body: rule, parameters: rule }));
    },
  }),
  mesh("/psk/rotate", {
    floor: { kind: "rpc", rpc: "rotate_psk" },
    async calls(filled, count) {
      const { sql } = filled.stack;
      const agents = Array.from({ length: ROOM }, (_, index) => peerIn(1, filled, index));
      // Give each of these pairs a PSK to replace. The database checks its form.
      await sql`
        update mesh.pairs
        set encrypted_psk = 'v1.0000000000000000.AAAA', made_at = now()
        where low_agent = any (${agents}) and high_agent = any (${agents})`;
      return Array.from({ length: count }, (_, index) => {
        const pair = { a: agents[index % ROOM]!, b: agents[(index + 1) % ROOM]! };
        return { agent: pair.a, body: pair, parameters: pair };
      }).filter(({ body: { a, b } }) => a !== agents.at(-1) || b !== agents[0]);
    },
  }),
];
