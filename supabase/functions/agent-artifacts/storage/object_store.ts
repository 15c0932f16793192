import { StorageClient } from "@supabase/storage-js";
import { ServiceError } from "../../_shared/request/errors.ts";
import type { PlatformSettings } from "../../_shared/request/settings/platform.ts";
import { fetchFromStorage, serviceHeaders } from "../../_shared/data/fetch.ts";
import { recordedFetch } from "../../_shared/data/calls.ts";
import { requireBucket } from "./bucket.ts";
import { BUCKET } from "./object_paths.ts";
import { isNotFound, missingBucket, storageFailure } from "./storage_errors.ts";

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
  /** The bytes from `start`, up to but not including `end`. Default: all. */
  readonly range?: { readonly start: number; readonly end: number };
  /** Aborts the request, and the reading of its body. */
  readonly signal: AbortSignal;
}

/** `unknown`: no answer says how the move ended, so Storage may still be moving. */
export type MoveOutcome = "moved" | "nothing there" | "unknown";

/** There is nothing to read at a path: no object, or one whose bytes are lost. */
export class ObjectGone extends Error {
  override readonly name = "ObjectGone";
}

export interface ObjectStore {
  signUpload(path: string): Promise<SignedUrl>;
  /** `fileName` becomes the content-disposition of the download. */
  signDownload(path: string, options: { seconds: number; fileName: string }): Promise<SignedUrl>;
  /** Throws only if the move is known to have failed. */
  move(from: string, to: string): Promise<MoveOutcome>;
  /** Null when there is nothing at `path`. */
  describe(path: string): Promise<StoredObject | null>;
  /** The bytes, unaltered. Throws ObjectGone. */
  read(path: string, options: ReadOptions): Promise<ReadableStream<Uint8Array>>;
  /** At most 1000 paths. Gives back those at which this call removed something. */
  remove(paths: readonly string[]): Promise<string[]>;
}

/**
 * The statuses of a gateway that lost its connection to Storage. Storage may still work on the
 * request. 52x are Cloudflare's; 521 and 523 are left out, because with these the request never
 * reached Storage.
 */
const LOST_SIGHT_STATUSES: ReadonlySet<number> = new Set([502, 504, 520, 522, 524]);

/** How much sooner than asked for a URL may expire, because it expires at a whole second. */
const ROUNDING_SECONDS = 1;

/**
 * The project's Storage. Every method throws upstream_unavailable if Storage fails, and
 * misconfigured if it says that the bucket is missing.
 */
export function createObjectStore(settings: PlatformSettings): ObjectStore {
  const storageUrl = `${settings.supabaseUrl}/storage/v1`;
  const bucket = new StorageClient(storageUrl, serviceHeaders(settings), fetchFromStorage)
    .from(BUCKET);
  return {
    async signUpload(path) {
      const { data, error } = await bucket.createSignedUploadUrl(path);
      // The path may be empty. If Storage finds something missing, it is the bucket.
      if (error && isNotFound(error)) throw missingBucket(error);
      if (error) throw storageFailure(error);
      return signedUrl(data.signedUrl);
    },

    async signDownload(path, { seconds, fileName }) {
      const { data, error } = await bucket.createSignedUrl(
        path,
        Math.max(seconds, 1 + ROUNDING_SECONDS),
      );
      if (error && isNotFound(error)) {
        await requireBucket(settings);
        // The database says that the bytes exist, so a retry does not help.
        throw new ServiceError("internal", { cause: error });
      }
      if (error) throw storageFailure(error);
      const signed = signedUrl(data.signedUrl);
      // The client's own `download` option would encode names outside ASCII twice.
      signed.url.search += `&download=${encodeURIComponent(fileName)}`;
      return signed;
    },

    async move(from, to) {
      let response: Response;
      try {
        response = await fetchFromStorage(`${storageUrl}/object/move`, {
          method: "POST",
          headers: { ...serviceHeaders(settings), "content-type": "application/json" },
          body: JSON.stringify({ bucketId: BUCKET, sourceKey: from, destinationKey: to }),
        });
      } catch {
        return "unknown";
      }
      const body = await response.json().catch(() => null);
      if (response.ok && body !== null) return "moved";
      if (LOST_SIGHT_STATUSES.has(response.status)) return "unknown";
      if (isNotFound(body)) {
        await requireBucket(settings);
        return "nothing there";
      }
      throw new ServiceError("upstream_unavailable", {
        cause: new Error(`Storage answered ${response.status} to a move`),
        // If Storage keeps its files in a directory, it answers only 500 when a file is lost.
        message:
          "Storage could not move the upload. Send the same request again; if that never helps, the upload is lost: start again with /register.",
      });
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
      if (response.status === (range === undefined ? 200 : 206) && response.body !== null) {
        return response.body;
      }
      const body = await response.json().catch(() => null);
      if (isNotFound(body)) {
        await requireBucket(settings);
        throw new ObjectGone("Storage has no bytes at the path");
      }
      throw storageFailure(new Error(`Storage answered ${response.status} to a download`));
    },

    async remove(paths) {
      if (paths.length === 0) return [];
      const { data, error } = await bucket.remove([...paths]);
      if (error) throw storageFailure(error);
      return data.map((removed) => removed.name);
    },
  };
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
