import type * as z from "zod";
import type { CallerArgument } from "../identity/callers/caller.ts";
import type { ErrorCode, ServiceError } from "../request/errors.ts";
import type { Platform } from "./operation.ts";
import type { RateLimits } from "../request/limits/rate_limits.ts";
import type { PlatformSettings } from "../request/settings/platform.ts";

/**
 * A URL for a person, whose browser downloads a file from it. The credential is the token:
 * everything after the last slash.
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
  /** Accepts every text. A text that is not a token matches nothing. */
  readonly token: z.ZodType<string, string>;
  /** What the rate limits count requests by. */
  readonly limitedBy: (token: string) => string;
  /** The link's errors, besides those that every link has. */
  readonly errors: readonly ErrorCode[];
  /** Counts a download and returns its URL. */
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
  /** By path. The first request for a link loads its module. */
  readonly byPath: Readonly<Record<`/${string}/:${string}`, () => Promise<LinkModule<Settings>>>>;
  /** Loads the code that serves links. A function without links does not contain that code. */
  readonly loadService: () => Promise<LinkService>;
}

/** The request that is served. */
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
