/** Commits in a test's database, without Storage. */
import type postgres from "postgres";
import { callAsService } from "../connection.ts";

export const OPERATOR = { kind: "operator", request_id: "test" };

export interface Committed {
  readonly artifact_id: string;
  readonly key: string;
  readonly state: string;
  readonly version: number;
}

const DIGEST = "a".repeat(64);

interface Publication {
  readonly agent?: string;
  readonly key: string;
  /** Parameters of register_artifact. */
  readonly further?: object;
}

/** Registers an artifact of an agent, and verifies its upload: the parameters of finish_commit. */
export async function verdictOf(
  sql: postgres.Sql,
  { agent = "planner", key, further = {} }: Publication,
) {
  const artifact_id = `art_${crypto.randomUUID().replaceAll("-", "")}`;
  const lease_token = crypto.randomUUID();
  await callAsService(sql, "register_artifact", {
    caller: OPERATOR,
    artifact_id,
    agent_id: agent,
    key,
    mime: "text/plain",
    size: 5,
    ttl_days: 30,
    quota_bytes: 0,
    max_pending: 100,
    max_artifacts: 1000,
    ...further,
  });
  await sql`update artifacts.artifacts set commit_attempts = 1 where artifact_id = ${artifact_id}`;
  await sql`
    insert into artifacts.verifications (artifact_id, attempt, lease_token, lease_expires_at)
    values (${artifact_id}, 1, ${lease_token}, now() + interval '1 minute')`;
  return {
    caller: OPERATOR,
    artifact_id,
    lease_token,
    observed_size: 5,
    expected_sha256: DIGEST,
    observed_sha256: DIGEST,
  };
}

/** Registers an artifact of an agent, with its upload verified up to the verdict. */
export async function prepare(
  sql: postgres.Sql,
  publication: Publication,
): Promise<() => Promise<Committed>> {
  const verdict = await verdictOf(sql, publication);
  return async () =>
    (await callAsService<{ artifact: Committed }>(sql, "finish_commit", verdict)).artifact;
}

/** Commits an artifact under a name. */
export async function commitFile(
  sql: postgres.Sql,
  key: string,
  options: { agent?: string; further?: object } = {},
): Promise<Committed> {
  return await (await prepare(sql, { key, ...options }))();
}

/** As if an artifact had ended a month ago, and its bytes were removed. */
export async function endLongAgo(sql: postgres.Sql, { artifact_id }: Committed): Promise<void> {
  await sql`
    update artifacts.artifacts
    set state = 'deleted', deleted_at = now() - interval '40 days',
      ended_at = now() - interval '40 days', removed_at = now() - interval '40 days'
    where artifact_id = ${artifact_id}`;
}
