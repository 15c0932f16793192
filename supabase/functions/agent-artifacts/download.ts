import * as z from "zod";
import type { ErrorCode } from "../_shared/request/errors.ts";
import type { Platform } from "../_shared/operations/operation.ts";
import { publicUrl } from "../_shared/request/reading/public_origin.ts";
import type { CallerArgument } from "../_shared/identity/callers/caller.ts";
import { sha256Hex } from "../_shared/identity/secrets.ts";
import { content, sentExpiry } from "./fields.ts";
import type { ArtifactsSettings } from "./settings.ts";
import { createObjectStore } from "./storage/object_store.ts";

/** What /fetch and /open answer with. */
export const download = z.object({
  url: z.url().meta({
    description:
      "GET the bytes from this URL until `expires_at`. It supports Range and needs no credential.",
    examples: [
      "https://project.supabase.co/storage/v1/object/sign/agent-artifacts/sealed/art?token=the-token&download=july.pdf",
    ],
  }),
  expires_at: sentExpiry.meta({
    description: "When `url` stops working.",
    examples: ["2026-01-31T09:31:00.000Z"],
  }),
  ...content,
}).meta({ id: "Download" });

/** What the SQL functions behind /fetch and /open return. */
interface AllowedDownload extends Omit<z.output<typeof download>, "url" | "expires_at"> {
  readonly sealed_path: string;
  readonly window_seconds: number;
  /** The grant whose download count was raised; null: none. */
  readonly counted_grant_id: string | null;
}

/** The errors that a grant token can cause. */
export const GRANT_TOKEN_ERRORS: readonly ErrorCode[] = [
  "grant_not_found",
  "grant_expired",
  "grant_revoked",
  "grant_used_up",
  "artifact_expired",
  "artifact_lost",
];

type Download = z.output<typeof download>;

/** Who asks for a download. */
interface Asking {
  readonly caller: CallerArgument;
  readonly request: Request;
}

export interface Downloads {
  /** Exchanges a grant token for a download. Throws its errors, and upstream_unavailable. */
  redeem(grantToken: string, asking: Asking): Promise<Download>;
  /** Opens an artifact. Throws what the SQL function raises, and upstream_unavailable. */
  open(named: NamedArtifact, asking: Asking): Promise<Download>;
}

/** An artifact by its id, or by a key of an agent (null: the caller). */
interface NamedArtifact {
  readonly artifact_id: string | null;
  readonly key: string | null;
  readonly agent_id: string | null;
  /** Of the key. Left out: the current one, which also works with an older schema. */
  readonly version?: number;
  /** In bytes. Left out: any size, which also works with the schema of an older release. */
  readonly max_size?: number;
}

export function createDownloads(
  { callDatabase, settings }: Platform<ArtifactsSettings>,
): Downloads {
  const store = createObjectStore(settings);
  const window_seconds = settings.artifactsFetchUrlSeconds;

  /** Signs the URL of a download that the database has allowed. */
  async function makeDownload(
    { sealed_path, window_seconds, counted_grant_id, ...described }: AllowedDownload,
    request: Request,
  ): Promise<Download> {
    const fileName = described.key.slice(described.key.lastIndexOf("/") + 1);
    try {
      const signed = await store.signDownload(sealed_path, { seconds: window_seconds, fileName });
      return {
        url: publicUrl(signed.url, request, settings),
        expires_at: signed.expiresAt.toISOString(),
        ...described,
      };
    } catch (error) {
      if (counted_grant_id !== null) {
        // The caller gets no URL, so its download is given back. If that fails too, the grant gives
        // one download less than it could.
        await callDatabase("return_download", { grant_id: counted_grant_id }).catch(() => {});
      }
      throw error;
    }
  }

  return {
    async redeem(grantToken, { caller, request }) {
      const token_hash = sha256Hex(grantToken);
      const allowed = await callDatabase<AllowedDownload>("redeem_grant_token", {
        caller,
        token_hash,
        window_seconds,
      });
      return await makeDownload(allowed, request);
    },
    async open(named, { caller, request }) {
      const allowed = await callDatabase<AllowedDownload>("open_artifact", {
        caller,
        ...named,
        window_seconds,
      });
      return await makeDownload(allowed, request);
    },
  };
}
