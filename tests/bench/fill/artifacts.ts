/** Fills the tables of artifacts in bulk, with rows as the operations would leave them. */
import type postgres from "postgres";
import {
  GRANTEE,
  HOARDER,
  LEASE,
  OWNER,
  POPULAR,
  READER,
  REGISTRAR,
  RENAMER,
  type Size,
  TAGS,
  VERSIONED,
  VERSIONED_KEY,
} from "./cast.ts";
import { fillInChunks } from "./chunks.ts";
import { fillTasks } from "./tasks.ts";

const LIVE_GRANTS = 10;
const READER_GRANTS = 50;
const GRANTS_PER_TAG = 40;
const OWNER_STANDING = 100;
/** As many as an agent can have. */
const REGISTRAR_STANDING = 1_000;

/** Fills an empty database as the superuser (`sql`). Skips triggers and foreign keys. */
export async function fillArtifacts(sql: postgres.Sql, { artifacts }: Size): Promise<void> {
  await Promise.all([
    fillCommitted(sql, artifacts),
    fillObjects(sql, artifacts),
    fillEnded(sql, Math.ceil(artifacts / 10)),
    fillStandingGrants(sql, Math.ceil(artifacts / 20)),
    fillVersions(sql, Math.ceil(artifacts / 10)),
    fillPending(sql, Math.ceil(artifacts / 20)),
    fillGrants(sql, artifacts),
    fillGrantsToTags(sql, artifacts),
    fillBlockedSenders(sql, artifacts),
  ]);
  await fillDownloads(sql);
  await fillTasks(sql, artifacts);
  await sql`analyze artifacts.artifacts, artifacts.grants, artifacts.grant_downloads,
    artifacts.spent_versions, artifacts.standing_grants`;
  await sql`
    insert into artifacts.totals
    select c.*
    from (
      select agent_id from artifacts.artifacts union select from_agent from artifacts.grants
    ) named
    cross join lateral artifacts.count_totals(named.agent_id) c`;
  await sql`
    insert into artifacts.project_totals
    select 0, sum(pending), sum(committed), sum(superseded), sum(pending_bytes),
      sum(committed_bytes), sum(superseded_bytes), sum(grants), sum(surplus_bytes)
    from artifacts.totals`;
}

async function fillCommitted(sql: postgres.Sql, count: number): Promise<void> {
  await fillInChunks(sql, count, (transaction, { from, to }) =>
    transaction`
      insert into artifacts.artifacts (artifact_id, agent_id, key, mime, size_bytes, ttl_days,
        state, sha256, created_at, committed_at, expires_at, commit_attempts, sealed_attempt, version)
      select 'art_' || md5('artifact ' || i),
        case when i % 10 = 0 then 'owner-' || i / 100 else ${HOARDER} end,
        case when i % 100 = 7 then 'pl\u00e4n/' else 'files/' end || lpad(i::text, 8, '0'),
        'text/plain', 100, 365, 'committed',
        encode(sha256(convert_to(i::text, 'UTF8')), 'hex'), now() - interval '10 days',
        now() - interval '10 days' + i * interval '1 ms',
        now() + interval '100 days' + i * interval '1 ms', 1, 1, 1
      from generate_series(${from}::integer, ${to}::integer - 1) i`);
}

/**
 * A hundred of the owner, and a thousand of the registrar, of which one is of an upload; the others
 * have ended.
 */
async function fillStandingGrants(sql: postgres.Sql, ended: number): Promise<void> {
  const live = OWNER_STANDING + REGISTRAR_STANDING;
  await fillInChunks(sql, ended + live, (transaction, { from, to }) =>
    transaction`
      insert into artifacts.standing_grants (standing_id, from_agent, covered_name, is_prefix, to_agent,
        created_at, expires_at)
      select 'standing_' || md5('standing ' || i),
        case when i < ${OWNER_STANDING}::integer then ${OWNER}
          when i < ${live}::integer then ${REGISTRAR} else ${HOARDER} end,
        case when i = ${OWNER_STANDING}::integer then 'uploads/8' else 'standing/' || i end, true,
        ${GRANTEE}, now() - interval '20 days',
        now() + case when i < ${live}::integer then interval '100 days' else interval '-1 day' end
      from generate_series(${from}::integer, ${to}::integer - 1) i`);
}

/** Also names that are known only by the highest version that they had. */
async function fillVersions(sql: postgres.Sql, count: number): Promise<void> {
  await fillInChunks(sql, count, async (transaction, { from, to }) => {
    await transaction`
      insert into artifacts.artifacts (artifact_id, agent_id, key, mime, size_bytes, ttl_days,
        state, sha256, created_at, committed_at, expires_at, commit_attempts, sealed_attempt, version)
      select 'art_' || md5('version ' || i), ${VERSIONED}, ${VERSIONED_KEY}, 'text/plain', 100, 365,
        case when i = ${count}::integer - 1 then 'committed' else 'superseded' end,
        encode(sha256(convert_to(i::text, 'UTF8')), 'hex'), now() - interval '10 days',
        now() - interval '10 days' + i * interval '1 ms',
        now() + interval '100 days' + i * interval '1 ms', 1, 1, i + 1
      from generate_series(${from}::integer, ${to}::integer - 1) i`;
    await transaction`
      insert into artifacts.spent_versions (agent_id, key_hash, version)
      select case when i % 2 = 0 then ${VERSIONED} else 'owner-' || i end,
        artifacts.hash_of_key('spent ' || i), 1
      from generate_series(${from}::integer, ${to}::integer - 1) i`;
  });
}

async function fillObjects(sql: postgres.Sql, count: number): Promise<void> {
  await fillInChunks(sql, count, (transaction, { from, to }) =>
    transaction`
      insert into storage.objects (bucket_id, name, version, created_at, metadata)
      select 'agent-artifacts', 'sealed/art_' || md5('artifact ' || i) || '/1',
        gen_random_uuid()::text, now() - interval '10 days', '{"size": 100}'
      from generate_series(${from}::integer, ${to}::integer - 1) i`);
}

/** The renamer's tombstones, and its live artifacts under keys that sort after them. */
async function fillEnded(sql: postgres.Sql, count: number): Promise<void> {
  await fillInChunks(sql, count + LIVE_GRANTS, (transaction, { from, to }) =>
    transaction`
      insert into artifacts.artifacts (artifact_id, agent_id, key, mime, size_bytes, ttl_days,
        state, sha256, created_at, committed_at, expires_at, commit_attempts, sealed_attempt,
        ended_at, removed_at)
      select 'art_' || md5('renamed ' || i), ${RENAMER}, 'names/' || lpad(i::text, 8, '0'),
        'text/plain', 100, 1, 'committed', repeat('0', 64), now() - interval '9 days',
        now() - interval '9 days',
        case when i < ${count}::integer then now() - interval '8 days' else now() + interval '90 days' end,
        1, 1,
        case when i < ${count}::integer then now() - interval '7 days' + i * interval '1 ms' end,
        case when i < ${count}::integer then now() - interval '6 days' end
      from generate_series(${from}::integer, ${to}::integer - 1) i`);
}

/** Pending artifacts: too young for the sweep to end, old enough for the sweep to check. */
async function fillPending(sql: postgres.Sql, count: number): Promise<void> {
  await fillInChunks(sql, count, async (transaction, { from, to }) => {
    await transaction`
      insert into artifacts.artifacts (artifact_id, agent_id, key, mime, size_bytes, ttl_days,
        created_at, commit_attempts)
      select 'art_' || md5('pending ' || i), ${REGISTRAR}, 'uploads/' || i, 'text/plain', 100, 1,
        now() - interval '5 hours' + i * interval '1 ms', 1
      from generate_series(${from}::integer, ${to}::integer - 1) i`;
    await transaction`
      insert into artifacts.verifications (artifact_id, attempt, lease_token, lease_expires_at)
      select 'art_' || md5('pending ' || i), 1, case when i % 4 = 0 then ${LEASE}::uuid end,
        case when i % 4 = 0 then now() + interval '1 day' end
      from generate_series(${from}::integer, ${to}::integer - 1) i`;
    await transaction`
      insert into storage.objects (bucket_id, name, version, created_at, metadata)
      select 'agent-artifacts',
        case when i % 2 = 0 then 'sealed/art_' || md5('pending ' || i) || '/1'
          else 'incoming/art_' || md5('pending ' || i) end,
        gen_random_uuid()::text, now() - interval '5 hours', '{"size": 100}'
      from generate_series(${from}::integer, ${to}::integer - 1) i`;
    // Some of them once had an upload that was too large.
    await transaction`
      update artifacts.artifacts a
      set surplus_bytes = 100, surplus_seen_at = now() - i % 3 * interval '1 hour'
      from generate_series(${from}::integer, ${to}::integer - 1, 5) i
      where a.artifact_id = 'art_' || md5('pending ' || i)`;
  });
}

async function fillGrants(sql: postgres.Sql, ended: number): Promise<void> {
  // Ended grants, alternately expired and revoked, all of one artifact and to one agent.
  await fillInChunks(sql, ended, (transaction, { from, to }) =>
    transaction`
      insert into artifacts.grants (grant_id, artifact_id, from_agent, to_agent, token_hash,
        granted_at, expires_at, revoked_at)
      select 'grant_' || md5('ended ' || i), 'art_' || md5('artifact ' || ${POPULAR}::integer),
        ${HOARDER}, ${GRANTEE}, encode(sha256(convert_to('ended ' || i, 'UTF8')), 'hex'),
        now() - interval '9 days' + i * interval '1 ms',
        case when i % 2 = 0 then now() - interval '1 day' else now() + interval '1 day' end,
        case when i % 2 = 1 then now() - interval '2 days' end
      from generate_series(${from}::integer, ${to}::integer - 1) i`);
  // A tenth as many live grants, a few to each agent.
  await fillInChunks(sql, Math.ceil(ended / 10), (transaction, { from, to }) =>
    transaction`
      insert into artifacts.grants (grant_id, artifact_id, from_agent, to_agent, token_hash,
        granted_at, expires_at)
      select 'grant_' || md5('live ' || i), 'art_' || md5('artifact ' || i * 10),
        'owner-' || i / 10,
        case when i < ${READER_GRANTS}::integer then ${READER}
          when i < ${READER_GRANTS + LIVE_GRANTS}::integer then ${GRANTEE}
          else 'peer-' || i % 1000 end,
        encode(sha256(convert_to('g_' || rtrim(translate(
          encode(sha256(convert_to('live ' || i, 'UTF8')), 'base64'), '+/', '-_'), '='), 'UTF8')), 'hex'),
        now() - interval '9 days' - i * interval '1 ms', now() + interval '90 days'
      from generate_series(${from}::integer, ${to}::integer - 1) i`);
}

/**
 * Live grants to each tag in turn. The first tag also has as many ended grants as there are
 * artifacts.
 */
async function fillGrantsToTags(sql: postgres.Sql, artifacts: number): Promise<void> {
  const live = TAGS.length * GRANTS_PER_TAG;
  await fillInChunks(sql, artifacts + live, (transaction, { from, to }) =>
    transaction`
      insert into artifacts.grants (grant_id, artifact_id, from_agent, to_tag, token_hash,
        granted_at, expires_at)
      select 'grant_' || md5('tag ' || i), 'art_' || md5('artifact ' || 10 * n), 'owner-' || n / 10,
        case when is_live then 'tag:crew-' || i % ${TAGS.length}::integer + 1 else ${TAGS[0]!} end,
        encode(sha256(convert_to('tag ' || i, 'UTF8')), 'hex'), now() - interval '8 days',
        now() + case when is_live then interval '90 days' else interval '-1 day' end
      from generate_series(${from}::integer, ${to}::integer - 1) i
      cross join lateral (
        select i < ${live}::integer as is_live,
          -- Every tenth artifact is granted, around again where there are few.
          1 + (99 + i % ${live}::integer) % (${artifacts}::integer / 10 - 1) as n
      ) numbered`);
}

/**
 * Download counts of the ended grants, and of every fourth live grant, which allows five downloads.
 */
async function fillDownloads(sql: postgres.Sql): Promise<void> {
  await sql`
    insert into artifacts.grant_downloads (grant_id, downloads)
    select grant_id, 3 from artifacts.grants where live_until <= now()`;
  await sql`
    insert into artifacts.grant_downloads (grant_id, max_downloads, downloads)
    select 'grant_' || md5('live ' || i), 5, 1
    from generate_series(1, (select count(*) from artifacts.grants where live_until > now() and to_tag is null)::integer - 1, 4) i`;
}

/**
 * One blocked sender for each peer, and one for the grantee. The sender never granted it anything.
 */
async function fillBlockedSenders(sql: postgres.Sql, count: number): Promise<void> {
  await sql`
    insert into artifacts.blocked_senders (agent_id, from_agent) values (${GRANTEE}, 'stranger')`;
  await fillInChunks(sql, count, (transaction, { from, to }) =>
    transaction`
      insert into artifacts.blocked_senders (agent_id, from_agent)
      select 'peer-' || i, 'stranger'
      from generate_series(${from}::integer, ${to}::integer - 1) i`);
}
