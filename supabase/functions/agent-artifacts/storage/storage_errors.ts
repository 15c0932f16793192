import { ServiceError } from "../../_shared/request/errors.ts";
import { BUCKET } from "./object_paths.ts";

/**
 * An error as Storage describes it in the body. The HTTP status is 400 in nearly every case. Errors
 * of storage-js have the same fields.
 */
interface StorageFailure {
  /** Names the case, such as NoSuchKey. */
  readonly code: string;
  /** The real status. */
  readonly statusCode: string;
}

/** The error in an answer's body. The fields are empty if the body is not an error of Storage. */
function parseStorageFailure(body: unknown): StorageFailure {
  const { code, statusCode } = (body ?? {}) as Record<string, unknown>;
  return { code: String(code ?? ""), statusCode: String(statusCode ?? "") };
}

export function isNotFound(error: unknown): boolean {
  return parseStorageFailure(error).statusCode === "404";
}

/** The catalogue's error for what Storage answered, or for no answer at all. */
export function storageFailure(cause: unknown): ServiceError {
  return parseStorageFailure(cause).code === "NoSuchBucket"
    ? missingBucket(cause)
    : new ServiceError("upstream_unavailable", { cause });
}

export function missingBucket(cause: unknown): ServiceError {
  return new ServiceError("misconfigured", {
    cause,
    message: `The project has no bucket ${BUCKET}. Make a private bucket of this name.`,
  });
}
