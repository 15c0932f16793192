/** Fills the tables of the mesh in bulk, with rows as the operations would leave them. */
import type postgres from "postgres";
import type { Size } from "./cast.ts";
import { fillInChunks } from "./chunks.ts";

/** Each peer may reach the next five peers of the ring, so each peer has ten neighbours. */
const RULES_PER_PEER = 5;

/** Fills an empty database as the superuser (`sql`). Skips triggers and foreign keys. */
export async function fillMesh(sql: postgres.Sql, { peers, hubs = [] }: Size): Promise<void> {
  // The network must have addresses for more than 65,533 peers.
  await sql`update mesh.settings set ipv4_network = '10.0.0.0/8'`;
  await fillInChunks(sql, peers, async (transaction, { from, to }) => {
    await transaction`
      insert into mesh.rules (from_agent, to_agent, proto, port, from_agreed_at, to_agreed_at)
      select 'peer-' || i, 'peer-' || (i + step) % ${peers}::integer, 'tcp', 443, now(), now()
      from generate_series(${from}::integer, ${to}::integer - 1) i
      cross join generate_series(1, ${RULES_PER_PEER}::integer) step`;
    await transaction`
      insert into mesh.pairs (low_agent, high_agent)
      select least(one.agent_id, other.agent_id), greatest(one.agent_id, other.agent_id)
      from generate_series(${from}::integer, ${to}::integer - 1) i
      cross join generate_series(1, ${RULES_PER_PEER}::integer) step
      cross join lateral (select ('peer-' || i) collate "C") one (agent_id)
      cross join lateral (
        select ('peer-' || (i + step) % ${peers}::integer) collate "C"
      ) other (agent_id)
      on conflict do nothing`;
    // Each peer reports its path to the two next and the two previous peers of the ring.
    await transaction`
      insert into mesh.path_reports
        (agent_id, other_agent, via, endpoint, handshake_at, since, confirmed_at)
      select 'peer-' || i, 'peer-' || (${peers}::integer + i + step) % ${peers}::integer,
        'direct', '203.0.113.' || 1 + i % 250 || ':4242', now(), now(),
        -- Of some, longer ago than the sweep keeps it.
        now() - i % 10 * interval '6 hours'
      from generate_series(${from}::integer, ${to}::integer - 1) i
      cross join unnest('{-2, -1, 1, 2}'::integer[]) step
      on conflict do nothing`;
    // Requests that no agent has agreed to.
    await transaction`
      insert into mesh.rules (from_agent, to_agent, proto, port, from_agreed_at)
      select asks.from_agent, asks.to_agent, 'tcp', 443, now()
      from generate_series(${from}::integer, ${to}::integer - 1, 10) i
      cross join lateral (
        values ('peer-' || i, 'stranger-' || i), ('stranger-' || i, 'peer-' || i)
      ) asks (from_agent, to_agent)`;
    // Declined requests: some declined by either side, some more than a day ago.
    await transaction`
      insert into mesh.declined_requests
        (from_agent, to_agent, proto, port, declined_by, declined_at)
      select 'peer-' || i, 'stranger-' || i, 'udp', port,
        case when port % 4 < 2 then 'peer-' || i else 'stranger-' || i end,
        now() - port % 2 * interval '2 days'
      from generate_series(${from}::integer, ${to}::integer - 1, 10) i
      cross join generate_series(1, 10) port`;
    const ids = await transaction<{ agent_id: string }[]>`
      select 'peer-' || i as agent_id
      from generate_series(${from}::integer, ${to}::integer - 1) i`;
    await addPeers(transaction, ids.map(({ agent_id }) => agent_id), from);
  });
  await sql.begin(async (transaction) => {
    await transaction`set local session_replication_role = replica`;
    await addPeers(transaction, hubs.map(({ agentId }) => agentId), peers);
    for (const hub of hubs) {
      await transaction`
        insert into mesh.rules (from_agent, to_agent, proto, port, from_agreed_at, to_agreed_at)
        select 'peer-' || i, ${hub.agentId}, 'tcp', port, now(), now()
        from generate_series(0, ${hub.peers}::integer - 1) i
        cross join generate_series(1, ${hub.rulesPerPeer}::integer) port`;
      await transaction`
        insert into mesh.pairs (low_agent, high_agent)
        select least('peer-' || i, ${hub.agentId}::text collate "C"),
          greatest('peer-' || i, ${hub.agentId}::text collate "C")
        from generate_series(0, ${hub.peers}::integer - 1) i`;
      await transaction`
        insert into mesh.path_reports (agent_id, other_agent, via, handshake_at, since, confirmed_at)
        select 'peer-' || i, ${hub.agentId}, 'direct', now(), now(), now()
        from generate_series(0, ${hub.peers}::integer - 1) i`;
    }
  });
  await sql`
    insert into mesh.counters (counter, shard, value)
    select mesh.counter_of_rule(active), 0, count(*) from mesh.rules group by active`;
}

/** Registers peers. Their addresses are numbered from `first` within each network. */
async function addPeers(
  transaction: postgres.TransactionSql,
  ids: readonly string[],
  first: number,
): Promise<void> {
  await transaction`
    insert into mesh.address_leases (agent_id, ipv4, ipv6)
    select agent_id, set_masklen(s.ipv4_network, 32)::inet + number,
      set_masklen(s.ipv6_network, 128)::inet + number
    from unnest(${[...ids]}::text[]) with ordinality as named (agent_id, position)
    cross join mesh.settings s
    cross join lateral (select position + ${first}::integer) numbered (number)`;
  await transaction`
    insert into mesh.peers (agent_id, pubkey, endpoint)
    select agent_id, encode(set_byte(digest, 31, get_byte(digest, 31) & 127), 'base64'),
      '198.51.100.1:51820'
    from unnest(${[...ids]}::text[]) as named (agent_id)
    -- Below 2^255, as every public key is.
    cross join lateral (select sha256(convert_to(agent_id, 'UTF8'))) hashed (digest)`;
  await transaction`
    insert into mesh.liveness (agent_id, last_seen, paths_reported_at)
    select agent_id, now(), now() from unnest(${[...ids]}::text[]) as named (agent_id)`;
  await transaction`
    insert into mesh.config_versions (agent_id, version)
    select agent_id, 1 from unnest(${[...ids]}::text[]) as named (agent_id)`;
}
