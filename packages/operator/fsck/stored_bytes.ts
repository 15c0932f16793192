import { createHash } from "node:crypto";
import { CommandError } from "../../command/command_error.ts";
import { readConnection } from "../connection/connection.ts";
import { operatorFetch } from "../connection/operator_fetch.ts";

/** What Storage returns for an object. `unreadable`: it answers 500, every time. */
export type StoredBytes =
  | { readonly kind: "there"; readonly size: number; readonly sha256: string | null }
  | { readonly kind: "gone" }
  | { readonly kind: "unreadable" };

const BUCKET = "agent-artifacts";
/** How often to ask for an object: Storage fails now and then. */
const TRIES = 4;
/** The pause before the second try. It doubles before each later one. */
const PAUSE_MILLISECONDS = 300;

/**
 * Reads an object's first byte, whose answer tells the size, or the whole object. Storage's own
 * description proves nothing: it comes from a database row, which stays when the bytes go. With
 * `isOnce`, an object that cannot be read is not asked for again. Throws CommandError.
 */
export async function readStoredBytes(
  path: string,
  { whole, isOnce }: { readonly whole: boolean; readonly isOnce: boolean },
): Promise<StoredBytes> {
  for (let tried = 1;; tried++) {
    const outcome = await tryOnce(path, whole).catch((cause: unknown) => {
      if (cause instanceof CommandError) throw cause;
      return String(cause instanceof Error ? cause.message : cause);
    });
    if (typeof outcome === "object" && (isOnce || outcome.kind !== "unreadable")) return outcome;
    if (tried === TRIES) {
      if (typeof outcome === "object") return outcome;
      throw new CommandError(`Storage cannot be asked for ${path}: ${outcome}.`);
    }
    await new Promise((end) => setTimeout(end, PAUSE_MILLISECONDS * 2 ** (tried - 1)));
  }
}

/** Resolves to a text, the reason, if the answer tells nothing about the object. */
async function tryOnce(path: string, whole: boolean): Promise<StoredBytes | string> {
  const { SUPABASE_URL, SUPABASE_SECRET_KEY } = await readConnection();
  const fetch = await operatorFetch();
  const response = await fetch(
    new URL(`/storage/v1/object/authenticated/${BUCKET}/${path}`, SUPABASE_URL),
    {
      headers: {
        apikey: SUPABASE_SECRET_KEY,
        "accept-encoding": "identity",
        ...(!whole && { range: "bytes=0-0" }),
      },
    },
  );
  if (whole && response.status === 200 && response.body !== null) {
    return await digest(response.body);
  }
  if (!whole && response.status === 206) {
    await response.body?.cancel();
    const size = /\/([0-9]+)$/.exec(response.headers.get("content-range") ?? "")?.[1];
    return size === undefined
      ? "its answer has no content-range"
      : { kind: "there", size: Number(size), sha256: null };
  }
  const body = await response.json().catch(() => null);
  // Range Not Satisfiable: the object is empty, so it has no first byte.
  if (!whole && response.status === 416) return { kind: "there", size: 0, sha256: null };
  if (body?.code === "NoSuchBucket") {
    throw new CommandError(
      `Storage has no bucket ${BUCKET}. Make it first: agentops doctor prints how.`,
    );
  }
  if (body?.code === "NoSuchKey" || String(body?.statusCode) === "404") return { kind: "gone" };
  // A Storage that keeps its files in a directory answers 500 for a lost file.
  if (response.status === 500) return { kind: "unreadable" };
  return `HTTP ${response.status}`;
}

async function digest(bytes: ReadableStream<Uint8Array>): Promise<StoredBytes> {
  const hash = createHash("sha256");
  let size = 0;
  for await (const chunk of bytes) {
    hash.update(chunk);
    size += chunk.length;
  }
  return { kind: "there", size, sha256: hash.digest("hex") };
}
