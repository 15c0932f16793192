import type { ObjectFiles } from "./object_files.ts";
import type { ObjectAddress, ObjectRow, ObjectRows } from "./object_rows.ts";
import { storageErrors } from "./storage_error.ts";

export interface DownloadOptions {
  readonly address: ObjectAddress;
  readonly rows: ObjectRows;
  readonly files: Pick<ObjectFiles, "read">;
  /** When the signed URL expires. Left out if the request has a key instead. */
  readonly expiresAt?: Date;
}

/**
 * Answers a GET or HEAD of an object: the whole object, a range (206), or not modified (304).
 * Throws StorageError.
 */
export async function sendObject(request: Request, options: DownloadOptions): Promise<Response> {
  const row = await options.rows.findInBucket(options.address);
  const names = new URL(request.url).searchParams.getAll("download");
  if (names.length > 1) throw storageErrors.invalidRequest("querystring/download must be string");
  const headers = objectHeaders(row, { fileName: names[0], expiresAt: options.expiresAt });
  if (isNotModified(request.headers, row)) return new Response(null, { status: 304, headers });
  const { size } = row.metadata;
  const range = parseRange(request.headers.get("range") ?? undefined, size);
  const { start, length } = range ?? { start: 0, length: size };
  headers.set("content-length", String(length));
  if (range !== null) headers.set("content-range", `bytes ${start}-${start + length - 1}/${size}`);
  const status = range === null ? 200 : 206;
  if (request.method === "HEAD") return new Response(null, { status, headers });
  try {
    return new Response(await options.files.read(row.version, { start, length }), {
      status,
      headers,
    });
  } catch (cause) {
    if (!(cause instanceof Deno.errors.NotFound)) throw cause;
    const current = await options.rows.find(options.address);
    // The row has not changed, so its file is lost, and trying again would not help.
    if (current?.version === row.version) throw cause;
    // A new version replaced the object after the row was read.
    return await sendObject(request, options);
  }
}

function objectHeaders(
  { metadata }: ObjectRow,
  { fileName, expiresAt }: { fileName: string | undefined; expiresAt: Date | undefined },
): Headers {
  const headers = new Headers({
    "accept-ranges": "bytes",
    // Never show an upload as an HTML page of the project.
    "content-type": metadata.mimetype.includes("text/html") ? "text/plain" : metadata.mimetype,
    etag: metadata.eTag,
    "last-modified": new Date(metadata.lastModified).toUTCString(),
    "x-robots-tag": "none",
  });
  if (expiresAt === undefined) headers.set("cache-control", metadata.cacheControl);
  else headers.set("expires", expiresAt.toUTCString());
  if (fileName !== undefined) headers.set("content-disposition", contentDisposition(fileName));
  return headers;
}

function contentDisposition(name: string): string {
  if (name === "") return "attachment;";
  const encoded = encodeURIComponent(name);
  return `attachment; filename=${encoded}; filename*=UTF-8''${encoded}`;
}

/**
 * Compares the etag as text, so that `*` and weak tags match nothing, or the time in whole seconds.
 */
function isNotModified(headers: Headers, { metadata }: ObjectRow): boolean {
  if (headers.get("if-none-match") === metadata.eTag) return true;
  const since = Date.parse(headers.get("if-modified-since") ?? "");
  return Math.floor(Date.parse(metadata.lastModified) / 1000) <= since / 1000;
}

/** The first byte and the number of bytes of an answer. */
interface ByteRange {
  readonly start: number;
  readonly length: number;
}

/**
 * Reads a Range header for an object of `size` bytes: `bytes=0-4`, `bytes=5-` or `bytes=-3`. Null
 * if there is no header. Anything else, such as several ranges or junk, is a StorageError of HTTP
 * 416, as on the real server.
 */
function parseRange(header: string | undefined, size: number): ByteRange | null {
  if (header === undefined) return null;
  const [, first, last] = /^bytes=([0-9]*)-([0-9]*)$/.exec(header.trim()) ?? [];
  if (first === undefined || last === undefined || first + last === "") {
    throw storageErrors.invalidRange();
  }
  const start = first === "" ? Math.max(size - Number(last), 0) : Number(first);
  const end = first === "" || last === "" ? size : Math.min(Number(last) + 1, size);
  if (end <= start) throw storageErrors.invalidRange();
  return { start, length: end - start };
}
