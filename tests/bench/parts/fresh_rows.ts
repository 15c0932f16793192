/** Writes rows by SQL that one call each uses up. */
import { HOARDER, WORKER } from "../fill/cast.ts";
import type { FilledStack } from "./operations.ts";

function freshArtifactIdOf(number: number): string {
  return `art_${"f".repeat(20)}${number.toString(16).padStart(12, "0")}`;
}

/** Adds committed artifacts of the hoarder. Their objects exist only as rows. */
export async function addCommitted({ stack }: FilledStack, numbers: readonly number[]) {
  const ids = numbers.map(freshArtifactIdOf);
  await stack.sql`
    insert into artifacts.artifacts (artifact_id, agent_id, key, mime, size_bytes, ttl_days, state,
      sha256, committed_at, expires_at, commit_attempts, sealed_attempt)
    select id, ${HOARDER}, 'fresh/' || id, 'text/plain', 100, 30, 'committed', repeat('0', 64),
      now() - interval '1 day', now() + interval '29 days', 1, 1
    from unnest(${ids}::text[]) id`;
  await addObjects({ stack }, ids.map((id) => `sealed/${id}/1`));
  return ids;
}

/**
 * Adds artifacts of the hoarder that were deleted yesterday. The sweep must remove their objects.
 */
export async function addDeleted(filled: FilledStack, numbers: readonly number[]) {
  const ids = await addCommitted(filled, numbers);
  await filled.stack.sql`
    update artifacts.artifacts
    set state = 'deleted', deleted_at = now() - interval '1 day'
    where artifact_id = any (${ids})`;
  return ids;
}

async function addObjects({ stack }: Pick<FilledStack, "stack">, names: readonly string[]) {
  await stack.sql`
    insert into storage.objects (bucket_id, name, version, created_at, metadata)
    select 'agent-artifacts', name, gen_random_uuid()::text, now() - interval '1 day',
      '{"size": 100}'
    from unnest(${[...names]}::text[]) name`;
}

/** Adds pending artifacts of the hoarder, and uploads these bytes with Storage's own interface. */
export async function addUploaded(
  { stack }: FilledStack,
  numbers: readonly number[],
  bytes: Uint8Array<ArrayBuffer>,
) {
  const ids = numbers.map(freshArtifactIdOf);
  await stack.sql`
    insert into artifacts.artifacts (artifact_id, agent_id, key, mime, size_bytes, ttl_days)
    select id, ${HOARDER}, 'fresh/' || id, 'text/plain', ${bytes.length}, 30
    from unnest(${ids}::text[]) id`;
  for (const id of ids) {
    const path = `/object/upload/sign/agent-artifacts/incoming/${id}`;
    const signed = await send(`${stack.url}/storage/v1${path}`, {
      method: "POST",
      headers: { apikey: stack.secretKey },
    });
    const { url } = JSON.parse(signed);
    await send(`${stack.url}/storage/v1${url}`, { method: "PUT", body: bytes });
  }
  return ids;
}

/** Adds live grants of one of the hoarder's artifacts, each to another agent. */
export async function addGrants({ stack }: FilledStack, artifactId: string, to: readonly string[]) {
  await stack.sql`
    insert into artifacts.grants (grant_id, artifact_id, from_agent, to_agent, token_hash, expires_at)
    select 'grant_' || md5(agent || random()), ${artifactId}, ${HOARDER}, agent,
      encode(sha256(convert_to(agent || random(), 'UTF8')), 'hex'), now() + interval '1 day'
    from unnest(${[...to]}::text[]) agent`;
}

/** Lets the worker's twenty tasks that are not over wait, as if nobody had taken them. */
export async function letTasksWait({ stack }: FilledStack) {
  await stack.sql`
    update artifacts.tasks
    set state = 'waiting', attempt = 0, take_id = null, ready_at = now() - interval '1 day'
    where queue = ${WORKER} and ready_at is not null`;
}

async function send(url: string, request: RequestInit): Promise<string> {
  const response = await fetch(url, request);
  const text = await response.text();
  if (!response.ok) throw new Error(`Storage refused: ${text}`);
  return text;
}
