import { Buffer } from "node:buffer";

/** An upload: the object's bytes as they arrive, and what the uploader says about them. */
export interface UploadBody {
  /** Throws SenderGone, or the StorageError that answers a body which turns out to be wrong. */
  readonly bytes: AsyncIterable<Uint8Array>;
  readonly mimetype: string;
  readonly cacheControl: string;
  /** Any JSON. */
  readonly userMetadata: unknown;
}

/** The sender broke off the upload, so nobody reads an answer. */
export class SenderGone extends Error {
  override readonly name = "SenderGone";
}

/** A body that is the object itself, described by the request's headers. */
export function readRawBody(request: Request): UploadBody {
  const metadata = request.headers.get("x-metadata");
  return {
    bytes: bytesOf(request),
    mimetype: request.headers.get("content-type") ?? "application/octet-stream",
    cacheControl: request.headers.get("cache-control") ?? "no-cache",
    userMetadata: metadata === null
      ? null
      : parseUserMetadata(Buffer.from(metadata, "base64").toString()),
  };
}

/** The uploader's own metadata; null if it is not JSON, which the real server ignores too. */
export function parseUserMetadata(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return null;
  }
}

async function* bytesOf({ body }: Request): AsyncGenerator<Uint8Array> {
  if (body === null) return;
  try {
    yield* body;
  } catch (cause) {
    throw new SenderGone("The sender went away.", { cause });
  }
}
