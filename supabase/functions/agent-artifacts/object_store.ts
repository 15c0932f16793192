import { StorageApiError, StorageClient } from "@supabase/storage-js";
import { ServiceError } from "../_shared/errors.ts";
import type { PlatformSettings } from "../_shared/settings/platform.ts";
import { fetchFromStorage, serviceHeaders } from "../_shared/upstream/fetch.ts";
import { recordedFetch } from "../_shared/upstream/calls.ts";
import { BUCKET } from "./object_paths.ts";

export interface SignedUrl {
  /** With the origin that the service itself uses; see `publicOrigin`. */
  readonly url: URL;
  readonly expiresAt: Date;
}

/** What Storage says about an object. No two uploads have the same `id` and `version`. */
export interface StoredObject {
  readonly id: string;
  readonly version: string;
  /** In bytes. */
  readonly size: number;
}

export interface ReadOptions {
  /** The bytes from `start` to before `end`. Default: all. */
  readonly range?: { readonly start: number; readonly end: number };
  /** Ends the reading too. */
  readonly signal: AbortSignal;
}

export interface ObjectStore {
  signUpload(path: string): Promise<SignedUrl>;
  /** `fileName` becomes the content-disposition of the download. */
  signDownload(path: string, options: { seconds: number; fileName: string }): Promise<SignedUrl>;
  /** False when there is nothing at `from`. */
  move(from: string, to: string): Promise<boolean>;
  /** Null when there is nothing at `path`. */
  describe(path: string): Promise<StoredObject | null>;
  /** The bytes, unaltered. */
  read(path: string, options: ReadOptions): Promise<ReadableStream<Uint8Array>>;
  /** At most 1000 paths. Gives back those at which this call removed something. */
  remove(paths: readonly string[]): Promise<string[]>;
}

/** The project's Storage. Every method throws upstream_unavailable when Storage fails. */
export function createObjectStore(settings: PlatformSettings): ObjectStore {
  const storageUrl = `${settings.supabaseUrl}/storage/v1`;
  const bucket = new StorageClient(storageUrl, serviceHeaders(settings), fetchFromStorage)
    .from(BUCKET);
  return {
    async signUpload(path) {
      const { data, error } = await bucket.createSignedUploadUrl(path);
      if (error) throw storageFailure(error);
      return signedUrl(data.signedUrl);
    },

    async signDownload(path, { seconds, fileName }) {
      const { data, error } = await bucket.createSignedUrl(path, seconds);
      // The database says that the bytes are there: sending the request again does not help.
      if (error && isNotFound(error)) throw new ServiceError("internal", { cause: error });
      if (error) throw storageFailure(error);
      const signed = signedUrl(data.signedUrl);
      // Not by the client's own `download` option, which encodes names outside ASCII twice.
      signed.url.search += `&download=${encodeURIComponent(fileName)}`;
      return signed;
    },

    async move(from, to) {
      const { error } = await bucket.move(from, to);
      if (error && isNotFound(error)) return false;
      if (error) throw storageFailure(error);
      return true;
    },

    async describe(path) {
      const { data, error } = await bucket.info(path);
      if (error && isNotFound(error)) return null;
      if (error) throw storageFailure(error);
      const { id, version, size } = data;
      if (typeof size !== "number") throw storageFailure(new Error("info has no size"));
      return { id, version, size };
    },

    async read(path, { range, signal }) {
      const response = await recordedFetch(
        "object/authenticated",
        `${storageUrl}/object/authenticated/${BUCKET}/${path}`,
        {
          headers: {
            ...serviceHeaders(settings),
            "accept-encoding": "identity",
            ...(range === undefined ? {} : { range: `bytes=${range.start}-${range.end - 1}` }),
          },
          signal,
        },
      ).catch((cause: unknown) => {
        throw storageFailure(cause);
      });
      if (response.status !== (range === undefined ? 200 : 206) || response.body === null) {
        await response.body?.cancel();
        throw storageFailure(new Error(`Storage answered ${response.status} to a download`));
      }
      return response.body;
    },

    async remove(paths) {
      if (paths.length === 0) return [];
      const { data, error } = await bucket.remove([...paths]);
      if (error) throw storageFailure(error);
      return data.map((removed) => removed.name);
    },
  };
}

/** Storage answers HTTP 400 to nearly every error. The real status is a string in the body. */
function isNotFound(error: unknown): boolean {
  return error instanceof StorageApiError && String(error.statusCode) === "404";
}

function storageFailure(cause: unknown): ServiceError {
  return new ServiceError("upstream_unavailable", { cause });
}

/** The token of a signed URL is a JWT of this project's Storage. Only its `exp` is read. */
function signedUrl(text: string): SignedUrl {
  const url = new URL(text);
  const claims = url.searchParams.get("token")?.split(".")[1] ?? "";
  const { exp } = JSON.parse(atob(claims.replaceAll("-", "+").replaceAll("_", "/"))) as {
    exp: number;
  };
  return { url, expiresAt: new Date(exp * 1000) };
}
