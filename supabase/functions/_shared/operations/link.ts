import type * as z from "zod";
import type { CallerArgument } from "../request/caller.ts";
import type { ErrorCode, ServiceError } from "../errors.ts";
import type { Platform } from "./operation.ts";
import type { RateLimits } from "../request/rate_limits.ts";
import type { PlatformSettings } from "../settings/platform.ts";

/**
 * A URL that is handed to a person, whose browser downloads a file from it. The token, which is all
 * behind the last slash, is the credential.
 */
export interface Link {
  /** One line. */
  readonly summary: string;
  /** What one has to know beyond the summary. */
  readonly description: string;
  /** Which group of the OpenAPI document it belongs to. */
  readonly tag: string;
  /** Who may call it, for readers. */
  readonly callers: string;
  /** Gives a text for every text: one that is no token names nothing. */
  readonly token: z.ZodType<string, string>;
  /** By what requests are counted for the limits of rate. */
  readonly limitedBy: (token: string) => string;
  /** The errors of its own, besides those that every link has. */
  readonly errors: readonly ErrorCode[];
  /** Where it leads: the URL of the download, which now counts. */
  readonly follow: (context: LinkContext) => Promise<string>;
  /** What `follow` would lead to. Throws what `follow` would, and changes nothing. */
  readonly describe: (token: string) => Promise<LinkedFile>;
}

/** The file behind a link. */
export interface LinkedFile {
  readonly key: string;
  /** In bytes. */
  readonly size: number;
  /** The agent that owns it. */
  readonly from_agent: string;
  /** When the link stops working. */
  readonly expires_at: string;
  /** Null: any number. */
  readonly downloads_left: number | null;
}

/** What a link is given of one request. */
export interface LinkContext {
  readonly token: string;
  readonly caller: CallerArgument;
  readonly request: Request;
}

/** The module of a link. */
export interface LinkModule<Settings extends PlatformSettings> {
  readonly createLink: (platform: Platform<Settings>) => Link;
}

/** The links of a function. */
export interface Links<Settings extends PlatformSettings> {
  /** By their paths, each loaded by the first who follows it. */
  readonly byPath: Readonly<Record<`/${string}/:${string}`, () => Promise<LinkModule<Settings>>>>;
  /** What serves them. A function without links does not pack it. */
  readonly loadService: () => Promise<LinkService>;
}

/** Which request it is that is served. */
export interface LinkRequest {
  readonly request: Request;
  readonly requestId: string;
}

/** What a function needs to serve links: the module `serve_link.ts`. */
interface LinkService {
  readonly serveLink: (
    link: Link,
    served: LinkRequest & { readonly settings: PlatformSettings; readonly rateLimits: RateLimits },
  ) => Promise<Response>;
  readonly linkErrorResponse: (error: ServiceError, failed: LinkRequest) => Promise<Response>;
}
