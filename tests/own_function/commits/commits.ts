/** Commits at a test's own function, and changes that otherwise only time brings. */
import type { Agent, Answer } from "../../conformance/client.ts";
import {
  type Artifact,
  type Identified,
  registerAndUpload,
  type Registered,
  sha256,
} from "../../conformance/artifacts.ts";
import { withStackDatabase } from "../../database/connection.ts";
import type { OwnFunction } from "../own_function.ts";

/** The answer of /commit. With 202, it says how many bytes are verified. */
export interface Commit extends Artifact {
  readonly verified_bytes: number;
}

/** Calls this function's /commit, by default for the content "hello". */
export function commitBy(
  own: OwnFunction,
  { owner, artifact, digest = sha256("hello") }: {
    owner: Agent;
    artifact: Identified;
    digest?: string;
  },
): Promise<Answer<Commit>> {
  const body = { artifact_id: artifact.artifact_id, sha256: digest };
  return own.post<Commit>("/commit", { as: owner, body });
}

export const BYTES_PER_CALL = 100_000;

/** With this setting, LARGE_CONTENT takes five calls of /commit. */
export const FIVE_CALLS = { ARTIFACTS_COMMIT_BYTES_PER_CALL: String(BYTES_PER_CALL) };

/** Content for five calls. Each call reads different bytes. */
export const LARGE_CONTENT = Array.from(
  { length: 5 * BYTES_PER_CALL / 10 },
  (_, index) => String(index).padStart(10),
).join("");

export const LARGE_DIGEST = sha256(LARGE_CONTENT);

export function uploadLarge(owner: Agent): Promise<Registered> {
  return registerAndUpload(owner, { content: LARGE_CONTENT });
}

/** Ends the lease of a running or dead commit now. */
export async function endLease({ artifact_id }: Identified): Promise<void> {
  await withStackDatabase((sql) =>
    sql`update artifacts.verifications
      set lease_expires_at = now(),
        move_awaited_until = move_awaited_until - (lease_expires_at - now())
      where artifact_id = ${artifact_id} and lease_token is not null`
  );
}

/** Moves a verification that is saved between two calls, and its artifact, into the past. */
export async function age(
  { artifact_id }: Identified,
  { artifactHours, progressHours }: { artifactHours: number; progressHours: number },
): Promise<void> {
  await withStackDatabase((sql) =>
    sql`with aged as (
        update artifacts.verifications
        set progress_at = progress_at - make_interval(hours => ${progressHours})
        where artifact_id = ${artifact_id}
      )
      update artifacts.artifacts
      set created_at = created_at - make_interval(hours => ${artifactHours})
      where artifact_id = ${artifact_id}`
  );
}

/** Makes the saved verification belong to an object that is no longer in the bucket. */
export async function replaceVerifiedObject({ artifact_id }: Identified): Promise<void> {
  await withStackDatabase((sql) =>
    sql`update artifacts.verifications set object_version = 'another'
      where artifact_id = ${artifact_id}`
  );
}
