import type { Grant } from "../contract/types.ts";
import type { CallOptions } from "../http/connection_options.ts";

export interface ShareOptions extends CallOptions {
  /** When the access ends. Default: when the artifact expires. */
  readonly expiresAt?: Date | string;
  /** How many downloads it gives, from 1 to 1000. Default: any number. */
  readonly maxDownloads?: number;
}

/** A grant for anyone with its URL. */
export type ShareLink = Grant & { readonly url: string };

/** An agent by its identifier, or every agent that has a tag such as `tag:builder`. */
export type Grantee = string | { readonly tag: string };

/** The fields of a request that name a grantee. */
export function granteeOf(
  grantee: Grantee,
): { readonly to_agent: string } | { readonly to_tag: string } {
  return typeof grantee === "string" ? { to_agent: grantee } : { to_tag: grantee.tag };
}
