import { Buffer } from "node:buffer";
import type postgres from "postgres";
import type { ObjectFiles } from "./object_files.ts";
import type { ObjectAddress, ObjectRows } from "./object_rows.ts";
import { StorageError, storageErrors } from "./storage_error.ts";

export interface UploadContext {
  readonly rows: ObjectRows;
  readonly files: ObjectFiles;
  /** Bytes; for buckets without a limit of their own. */
  readonly sizeLimit: number;
}

/** What the real server takes in a path, and refuses only when the bytes come. */
const VALID_PATH = /^[A-Za-z0-9_/!.*'() &$=@;:+,?-]+$/;

/**
 * Stores the body of a signed PUT. Whether something is there already is looked at when the request begins; when it
 * ends, it takes its place whatever lies there by then: overlapping uploads all succeed and the last one to end wins.
 * Throws StorageError.
 */
export async function receiveUpload(
  request: Request,
  address: ObjectAddress & { readonly upsert: boolean },
  context: UploadContext,
): Promise<void> {
  try {
    await storeUpload(request, address, context);
  } catch (cause) {
    if (cause instanceof StorageError) await drain(request);
    throw cause;
  }
}

async function storeUpload(
  request: Request,
  address: ObjectAddress & { readonly upsert: boolean },
  { rows, files, sizeLimit }: UploadContext,
): Promise<void> {
  if (!isValidPath(address.path)) throw storageErrors.invalidKey(address.path);
  const mimetype = request.headers.get("content-type") ?? "application/octet-stream";
  if (mimetype.startsWith("multipart/form-data")) {
    throw storageErrors.invalidRequest("The local stack takes raw bodies only, no form data");
  }
  const limit = await rows.sizeLimit(address.bucket) ?? sizeLimit;
  // A body without a declared length gets past the limit, as it may on the real server.
  if (Number(request.headers.get("content-length") ?? 0) > limit) {
    throw storageErrors.entityTooLarge();
  }
  if (!address.upsert && await rows.find(address) !== null) throw storageErrors.keyAlreadyExists();

  const version = crypto.randomUUID();
  const size = await files.receive(version, request.body);
  const replaced = await rows.put(address, {
    version,
    metadata: {
      eTag: `"${version.replaceAll("-", "")}"`,
      size,
      mimetype,
      cacheControl: request.headers.get("cache-control") ?? "no-cache",
      lastModified: new Date().toISOString(),
      contentLength: size,
      httpStatusCode: 200,
    },
    userMetadata: userMetadata(request.headers.get("x-metadata")),
  });
  if (replaced !== null) await files.remove(replaced);
}

/**
 * Takes in the rest of a refused body: a connection that is closed with bytes under way may lose the refusal. A body
 * of no declared length may never end, and is left.
 */
async function drain(request: Request): Promise<void> {
  if (!request.headers.has("content-length") || request.body === null) return;
  const reader = request.body.getReader();
  try {
    while (!(await reader.read()).done);
  } catch {
    // The sender has gone, and needs no answer.
  }
}

export function isValidPath(path: string): boolean {
  return VALID_PATH.test(path);
}

function userMetadata(header: string | null): postgres.JSONValue | null {
  if (header === null) return null;
  try {
    return JSON.parse(Buffer.from(header, "base64").toString());
  } catch {
    return null;
  }
}
