import { isForm, readForm } from "./form_body.ts";
import type { ObjectFiles } from "./object_files.ts";
import type { ObjectAddress, ObjectRows } from "./object_rows.ts";
import { StorageError, storageErrors } from "./storage_error.ts";
import { readRawBody } from "./upload_body.ts";

export interface UploadContext {
  readonly rows: ObjectRows;
  readonly files: Pick<ObjectFiles, "receive" | "remove">;
  /** Bytes; for buckets without a limit of their own. */
  readonly sizeLimit: number;
}

/**
 * The characters that the real server accepts in a path. It checks them only when the bytes come.
 */
const VALID_PATH = /^[A-Za-z0-9_/!.*'() &$=@;:+,?-]+$/;

/** RFC 9110, section 8.3.1. Whatever follows the subtype is not checked. */
const MEDIA_TYPE = /^[\w!#$%&'*+.^`|~-]+\/[\w!#$%&'*+.^`|~-]+ *(;|$)/;

/**
 * Stores the object of a signed PUT. The PUT is refused if the object exists when the request
 * begins. An object that appears while the bytes arrive is replaced: overlapping uploads all
 * succeed, and the last one to end wins. Throws StorageError.
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
  if (!MEDIA_TYPE.test(request.headers.get("content-type") ?? "application/octet-stream")) {
    throw storageErrors.invalidMediaType();
  }
  if (!isValidPath(address.path)) throw storageErrors.invalidKey(address.path);
  const bucket = await rows.findBucket(address.bucket);
  if (bucket === null) throw storageErrors.noSuchBucket();
  const limit = Number(bucket.file_size_limit ?? sizeLimit);
  // A raw body without a declared length passes the limit, as it may on the real server.
  if (!isForm(request) && Number(request.headers.get("content-length") ?? 0) > limit) {
    throw storageErrors.entityTooLarge();
  }
  if (!address.upsert && await rows.find(address) !== null) throw storageErrors.keyAlreadyExists();

  const { bytes, mimetype, cacheControl, userMetadata } = isForm(request)
    ? await readForm(request, { sizeLimit: limit })
    : readRawBody(request);
  const version = crypto.randomUUID();
  const size = await files.receive(version, bytes);
  const replaced = await rows.put(address, {
    version,
    metadata: {
      eTag: `"${version.replaceAll("-", "")}"`,
      size,
      mimetype,
      cacheControl,
      lastModified: new Date().toISOString(),
      contentLength: size,
      httpStatusCode: 200,
    },
    userMetadata,
  });
  if (replaced !== null) await files.remove(replaced);
}

/**
 * Reads the rest of a refused body, because closing a connection with bytes under way may lose the
 * answer. Skips a body that is already being read, which ends by itself, and one without a declared
 * length, which may never end.
 */
async function drain({ body, headers }: Request): Promise<void> {
  if (body === null || body.locked || !headers.has("content-length")) return;
  const reader = body.getReader();
  try {
    while (!(await reader.read()).done);
  } catch {
    // The sender has gone, and needs no answer.
  }
}

export function isValidPath(path: string): boolean {
  return VALID_PATH.test(path);
}
