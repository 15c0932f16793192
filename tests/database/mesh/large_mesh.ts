/** An agent with very many peers, on the tested stack. */
import { withStackDatabase } from "../connection.ts";

const OPERATOR = { kind: "operator", request_id: "test" };

/**
 * Runs `run` while an agent has `peers` peers, each with `rulesPerPeer` active rules towards it. It
 * calls the operations' SQL functions directly, to save a request for each peer and rule.
 */
export async function withLargeMesh(
  { peers, rulesPerPeer }: { peers: number; rulesPerPeer: number },
  run: (mesh: { agentId: string; peerIds: readonly string[] }) => Promise<void>,
): Promise<void> {
  const id = crypto.randomUUID().slice(0, 8);
  const agentId = `center-${id}`;
  const peerIds = Array.from({ length: peers }, (_, index) => `peer-${id}-${index}`);
  await withStackDatabase(async (sql) => {
    try {
      // Add rules first and the agent last, so that its version rises only once.
      await sql`
        select public.agent_api_put_rule(${sql.json(OPERATOR)}, peer_id, ${agentId}, port, 'tcp')
        from unnest(${peerIds}::text[]) as peer_id, generate_series(1, ${rulesPerPeer}::integer) as port`;
      await sql`
        select public.agent_api_register_peer(
          ${sql.json(OPERATOR)}, agent_id, encode(sha256(convert_to(agent_id, 'UTF8')), 'base64'),
          '198.51.100.1:' || number, '198.51.100.1', null, 90
        )
        from unnest(${[...peerIds, agentId]}::text[]) with ordinality as named (agent_id, number)`;
      await run({ agentId, peerIds });
    } finally {
      await sql`
        select public.agent_api_remove_peer(${sql.json(OPERATOR)}, agent_id)
        from unnest(${[agentId, ...peerIds]}::text[]) as agent_id`;
    }
  });
}
