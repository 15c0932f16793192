import { parseRange } from "./byte_range.ts";
import type { ObjectFiles } from "./object_files.ts";
import type { ObjectAddress, ObjectRow, ObjectRows } from "./object_rows.ts";
import { storageErrors } from "./storage_error.ts";

export interface DownloadOptions {
  readonly address: ObjectAddress;
  readonly rows: ObjectRows;
  readonly files: ObjectFiles;
}

/**
 * Answers a GET or HEAD of an object: whole, a range (206), or not modified (304). Throws
 * StorageError.
 */
export async function sendObject(request: Request, options: DownloadOptions): Promise<Response> {
  const row = await options.rows.find(options.address);
  if (row === null) throw storageErrors.noSuchKey();
  const headers = objectHeaders(row, new URL(request.url).searchParams.get("download"));
  if (matches(request.headers.get("if-none-match"), row.metadata.eTag)) {
    return new Response(null, { status: 304, headers });
  }
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
    // The row is the same: its file is lost, and would be missing the next time too.
    if (current?.version === row.version) throw cause;
    // A new version took its place after the row was read.
    return await sendObject(request, options);
  }
}

function objectHeaders(row: ObjectRow, download: string | null): Headers {
  const { metadata } = row;
  const headers = new Headers({
    "accept-ranges": "bytes",
    "cache-control": metadata.cacheControl,
    "content-type": metadata.mimetype,
    etag: metadata.eTag,
    "last-modified": new Date(metadata.lastModified).toUTCString(),
  });
  if (download !== null) headers.set("content-disposition", contentDisposition(download));
  return headers;
}

function contentDisposition(name: string): string {
  if (name === "") return "attachment;";
  const encoded = encodeURIComponent(name);
  return `attachment; filename=${encoded}; filename*=UTF-8''${encoded};`;
}

function matches(ifNoneMatch: string | null, eTag: string): boolean {
  return ifNoneMatch !== null &&
    ifNoneMatch.split(",").some((tag) => [eTag, "*"].includes(tag.trim().replace(/^W\//, "")));
}
