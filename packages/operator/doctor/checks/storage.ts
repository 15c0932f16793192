import { setVariable } from "../findings/remedies.ts";
import { type Facts, inspected, refusesSecretKey, settingsOf } from "../facts/facts.ts";
import { fieldOf, wordsOf } from "../facts/reply.ts";
import { unmade } from "./unmade.ts";
import { fault, type Finding, note, ok, orOk, sql } from "../findings/finding.ts";

const BUCKET = "agent-artifacts";
/** The size limit of a project's Storage, until somebody changes it. */
const DEFAULT_LIMIT_BYTES = 50 * 1024 ** 2;

/** Whether the bucket exists, is private, and accepts every size that /register accepts. */
export function checkStorage(facts: Facts): Finding[] {
  const { bucket } = facts;
  if (refusesSecretKey(facts)) return [];
  if (fieldOf(bucket, "code") === "NoSuchBucket" || fieldOf(bucket, "statusCode") === "404") {
    return [fault(
      "bucket",
      `Storage has no bucket ${BUCKET}.`,
      "Make a private bucket of this name, without limits.",
      sql(
        `insert into storage.buckets (id, name, public) values ('${BUCKET}', '${BUCKET}', false);`,
      ),
    )];
  }
  if (bucket.status !== 200) {
    return [fault(
      "bucket",
      `Storage cannot be asked: ${wordsOf(bucket)}.`,
      "See whether the project is running.",
    )];
  }
  const findings: Finding[] = [];
  if (fieldOf(bucket, "public") !== false) {
    findings.push(fault(
      "bucket",
      `The bucket ${BUCKET} is public: anyone who guesses a path can read the file.`,
      "Make it private.",
      sql(`update storage.buckets set public = false where id = '${BUCKET}';`),
    ));
  }
  const types = fieldOf(bucket, "allowed_mime_types");
  if (Array.isArray(types) && types.length > 0) {
    findings.push(fault(
      "bucket",
      `The bucket accepts only ${types.join(", ")}, but /register accepts every type.`,
      "Take its list of allowed MIME types away.",
      sql(`update storage.buckets set allowed_mime_types = null where id = '${BUCKET}';`),
    ));
  }
  findings.push(...findVersioning(facts));
  return [
    ...orOk(findings, "bucket", `The bucket ${BUCKET} is there and private.`),
    ...checkSizeLimit(facts),
  ];
}

/** Storage never turns versioning off again: a trigger of its migration 0071 refuses that. */
function findVersioning(facts: Facts): Finding[] {
  const status = inspected(facts)?.bucket_versioning ?? fieldOf(facts.bucket, "versioning_status");
  if (typeof status !== "string" || status === "DISABLED") return [];
  return [fault(
    "bucket",
    `The bucket ${BUCKET} keeps versions (${status}): deleted files stay readable in Storage, and are paid for.`,
    "Storage cannot turn that off. This replaces the bucket if it is empty. If it says that the bucket is not empty, stop the agents and the sweep, copy the current objects to another bucket, delete every version and marker of this one through Storage, paste this again, and copy the objects back under the same names.",
    sql(`do $$
declare
  kept storage.buckets;
begin
  perform set_config('storage.allow_delete_query', 'true', true);
  delete from storage.buckets b
  where b.id = '${BUCKET}' and not exists (select from storage.objects o where o.bucket_id = b.id)
  returning b.* into kept;
  if not found then
    raise exception 'The bucket ${BUCKET} is not empty. Nothing was changed.';
  end if;
  insert into storage.buckets (id, name, public, file_size_limit, allowed_mime_types)
  values (kept.id, kept.name, kept.public, kept.file_size_limit, kept.allowed_mime_types);
end
$$;`),
  )];
}

function checkSizeLimit(facts: Facts): Finding[] {
  const { ARTIFACTS_MAX_SIZE_BYTES: largest } = settingsOf(facts);
  if (largest === undefined) return [];
  if (facts.uploads.status === 0 || facts.uploads.status >= 500) {
    return [unmade("file size", facts.uploads)];
  }
  const ofBucket = bytesIn(fieldOf(facts.bucket, "file_size_limit"));
  // TUS 1.0.0: Tus-Max-Size is the largest upload that the server accepts; here, in the whole
  // project.
  const ofProject = bytesIn(Number(facts.uploads.headers.get("tus-max-size")) || null);
  for (const [limit, where] of [[ofBucket, "the bucket"], [ofProject, "the project"]] as const) {
    if (limit === null || limit >= largest) continue;
    return [fault(
      "file size",
      `/register accepts ${largest} bytes, but the limit of ${where} is ${limit}.`,
      `Lower ARTIFACTS_MAX_SIZE_BYTES, or raise the limit of ${where}${
        where === "the bucket" ? "." : ": Storage, Settings."
      }`,
      where === "the bucket"
        ? sql(`update storage.buckets set file_size_limit = ${largest} where id = '${BUCKET}';`)
        : setVariable("ARTIFACTS_MAX_SIZE_BYTES", limit),
    )];
  }
  if (ofProject === null && ofBucket === null && largest > DEFAULT_LIMIT_BYTES) {
    return [note(
      "file size",
      `/register accepts ${largest} bytes. Storage does not tell its own limit.`,
      "See that the limit of the project is not smaller: Storage, Settings.",
    )];
  }
  return [ok("file size", `Storage accepts the ${largest} bytes that /register accepts.`)];
}

/**
 * PostgreSQL's bigint may come as text. Null: no limit. With a limit of 0, only empty files fit.
 */
function bytesIn(value: unknown): number | null {
  const bytes = Number(value ?? NaN);
  return Number.isNaN(bytes) ? null : bytes;
}
