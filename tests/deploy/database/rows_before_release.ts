import type postgres from "postgres";

/** What each table has that the one before had too; `renamed` gives the name from before. */
export const CARRIED_COLUMNS: Record<
  string,
  { readonly columns: readonly string[]; readonly renamed?: Readonly<Record<string, string>> }
> = {
  "agents.keys": {
    columns: [
      "key_id",
      "agent_id",
      "key_hash",
      "label",
      "created_at",
      "expires_at",
      "revoked_at",
    ],
  },
  "agents.events": {
    columns: [
      "event_id",
      "occurred_at",
      "actor_kind",
      "actor_agent_id",
      "action",
      "subject_agent_id",
      "object_id",
      "details",
      "request_id",
    ],
  },
  "artifacts.artifacts": {
    columns: [
      "artifact_id",
      "agent_id",
      "key",
      "mime",
      "size_bytes",
      "ttl_days",
      "state",
      "sha256",
      "created_at",
      "committed_at",
      "expires_at",
      "deleted_at",
      "ended_at",
      "commit_attempts",
      "rejected_attempts",
    ],
  },
  "artifacts.grants": {
    columns: [
      "grant_id",
      "artifact_id",
      "to_agent",
      "token_hash",
      "granted_at",
      "expires_at",
      "revoked_at",
    ],
  },
  "mesh.settings": { columns: ["only_row", "ipv4_network", "ipv6_network"] },
  "mesh.address_leases": { columns: ["agent_id", "ipv4", "ipv6", "released_at"] },
  "mesh.peers": {
    columns: [
      "agent_id",
      "pubkey",
      "endpoint",
      "listen_port",
      "effective_listen_port",
      "registered_at",
      "updated_at",
    ],
  },
  "mesh.liveness": { columns: ["agent_id", "last_seen", "config_version_applied"] },
  "mesh.rules": {
    columns: [
      "from_agent",
      "to_agent",
      "proto",
      "port",
      "from_agreed_at",
      "to_agreed_at",
      "active",
    ],
  },
  "mesh.pairs": {
    columns: [
      "low_agent",
      "high_agent",
      "psk_version",
      "encrypted_psk",
      "encryption_key_id",
      "made_at",
      "rotated_at",
    ],
    renamed: { encrypted_psk: "sealed_psk", encryption_key_id: "sealing_key_id" },
  },
  "mesh.config_versions": { columns: ["agent_id", "version"] },
};

/**
 * Fills a database that has the schema from before the squash: `count` artifacts in every state
 * that they can be in, as many grants, keys, events, peers and pairs with a PSK, and twice as many
 * rules.
 */
export async function fillWithRows(sql: postgres.Sql, count: number): Promise<void> {
  await sql`
    insert into agents.keys (key_id, agent_id, key_hash, label, expires_at, revoked_at)
    select 'key_' || md5('key' || n), 'agent-' || n, md5('a' || n) || md5('b' || n),
      case when n % 2 = 0 then 'label ' || n end,
      case when n % 3 = 0 then now() + interval '1 day' end,
      case when n % 5 = 0 then now() end
    from generate_series(1, ${count}::integer) n`;
  await sql`
    insert into artifacts.artifacts (
      artifact_id, agent_id, key, mime, size_bytes, ttl_days, state, sha256, created_at, committed_at, expires_at,
      deleted_at, ended_at, commit_attempts, rejected_attempts, sealed_path, lease_token, lease_expires_at,
      verified_bytes, hash_state, hashed_object_id, hashed_object_version, progress_at
    )
    select artifact_id, 'agent-' || n, 'folder/' || n, 'text/plain', n, 30, state,
      case when is_committed then md5('x' || n) || md5('y' || n) end,
      now() - interval '90 days',
      case when is_committed then now() - interval '40 days' end,
      case when is_committed then now() - interval '10 days' + n * interval '1 minute' end,
      case when state = 'deleted' then now() - interval '5 days' end,
      case when n % 8 = 7 then now() end,
      attempts, attempts - 1,
      case when is_committed or is_under_way then 'sealed/' || artifact_id || '/' || attempts end,
      case when n % 8 = 1 then gen_random_uuid() end,
      case when n % 8 = 1 then now() + interval '1 minute' end,
      case when n % 8 = 2 then 65536 else 0 end,
      case when n % 8 = 2 then sha256(n::text::bytea) end,
      case when n % 8 = 2 then gen_random_uuid() end,
      case when n % 8 = 2 then 'version ' || n end,
      case when n % 8 = 2 then now() - interval '1 hour' end
    from (
      select n, 'art_' || md5('artifact' || n) as artifact_id, 1 + n % 12 as attempts,
        (array['pending', 'pending', 'pending', 'committed', 'committed', 'superseded', 'deleted', 'deleted'])[n % 8 + 1]
          as state,
        n % 8 in (3, 4, 5, 6) as is_committed, n % 8 in (1, 2) as is_under_way
      from generate_series(1, ${count}::integer) n
    ) made`;
  await sql`
    insert into artifacts.grants (grant_id, artifact_id, to_agent, token_hash, expires_at, revoked_at)
    select 'grant_' || md5('grant' || n), 'art_' || md5('artifact' || n), 'agent-' || (n + 1),
      md5('c' || n) || md5('d' || n), now() + n * interval '1 second', case when n % 4 = 0 then now() end
    from generate_series(1, ${count}::integer) n`;
  await sql`
    insert into agents.events (actor_kind, actor_agent_id, action, subject_agent_id, object_id, details, request_id)
    select 'agent', 'agent-' || n, 'grant.created', 'agent-' || (n + 1), 'grant_' || md5('grant' || n),
      jsonb_build_object('artifact_id', 'art_' || md5('artifact' || n)), 'request ' || n
    from generate_series(1, ${count}::integer) n`;
  await sql`update mesh.settings set ipv4_network = '10.99.0.0/16'`;
  await sql`
    insert into mesh.address_leases (agent_id, ipv4, ipv6, released_at)
    select 'agent-' || n, set_masklen(inet '10.99.0.0' + n, 32), set_masklen(inet 'fd00::' + n, 128),
      case when n > ${count}::integer then now() end
    from generate_series(1, ${count}::integer + 100) n`;
  await sql`
    insert into mesh.peers (agent_id, pubkey, endpoint, listen_port)
    select 'agent-' || n, encode(sha256(n::text::bytea), 'base64'),
      case when n % 2 = 0 then '203.0.113.7:' || (1024 + n) end, case when n % 3 = 0 then 51820 end
    from generate_series(1, ${count}::integer) n`;
  await sql`
    insert into mesh.liveness (agent_id, last_seen, config_version_applied)
    select 'agent-' || n, case when n % 2 = 0 then now() end, case when n % 3 = 0 then n end
    from generate_series(1, ${count}::integer) n`;
  await sql`
    insert into mesh.config_versions (agent_id, version)
    select 'agent-' || n, n from generate_series(1, ${count}::integer + 100) n`;
  await sql`
    insert into mesh.rules (from_agent, to_agent, proto, port, from_agreed_at, to_agreed_at)
    select 'agent-' || n, 'agent-' || (n + 1), proto, 443, now(), case when n % 2 = 0 then now() end
    from generate_series(1, ${count}::integer) n, unnest(array['tcp', 'udp']) proto`;
  await sql`
    insert into mesh.pairs (low_agent, high_agent, psk_version, sealed_psk, made_at, rotated_at)
    select least(one, other), greatest(one, other), 1 + n % 7,
      case when n % 10 > 0 then 'v1.' || substr(md5('k' || n % 2), 1, 16) || '.' || encode(sha256(n::text::bytea), 'base64') end,
      now(), case when n % 7 > 0 then now() end
    from (
      select n, ('agent-' || n) collate "C" as one, ('agent-' || (n % ${count}::integer + 1)) collate "C" as other
      from generate_series(1, ${count}::integer) n
    ) pair`;
}
