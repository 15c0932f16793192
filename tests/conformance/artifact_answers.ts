/** What the operations on artifacts and grants answer. */

export interface Artifact {
  readonly artifact_id: string;
  readonly agent_id: string;
  readonly key: string;
  readonly mime: string;
  readonly size: number;
  readonly ttl_days: number;
  readonly sha256: string | null;
  readonly state: string;
  readonly created_at: string;
  readonly committed_at: string | null;
  readonly expires_at: string | null;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly version?: number | null;
}

/** The part of an artifact that operations need. */
export type Identified = Pick<Artifact, "artifact_id">;

export interface Registered extends Artifact {
  readonly upload_url: string;
  readonly upload: { readonly bucket: string; readonly path: string; readonly token: string };
  readonly upload_expires_at: string;
}

export interface Grant {
  readonly grant_id: string;
  /** Null only if it is `repeated`. */
  readonly token: string;
  readonly repeated?: true;
  readonly unknown_recipient?: true;
  readonly artifact_id: string;
  readonly to_agent: string | null;
  readonly to_tag?: string;
  readonly expires_at: string;
}

/** An entry of /grants. */
export interface GivenGrant extends Omit<Grant, "token"> {
  /** Only with `grant_id`. */
  readonly ended?: boolean;
  readonly key: string;
  readonly granted_at: string;
  readonly max_downloads: number | null;
  readonly downloads: number;
  readonly note: string | null;
  readonly deliver: string | null;
  readonly state: string | null;
  readonly attempt: number | null;
  readonly shown_at: string | null;
  readonly taken_by: string | null;
  readonly taken_until: string | null;
  readonly done_at: string | null;
  readonly reason: string | null;
  readonly reply_grant_id: string | null;
  readonly tasks: Readonly<Record<string, number>> | null;
}

export interface GivenGrantsPage {
  readonly grants: readonly GivenGrant[];
  readonly next_cursor: string | null;
}

export interface Download extends Pick<Artifact, "artifact_id" | "key" | "mime" | "size"> {
  readonly url: string;
  readonly expires_at: string;
  readonly sha256: string;
}

export interface InboxEntry
  extends
    Omit<Download, "url">,
    Readonly<Record<"grant_id" | "from_agent" | "granted_at", string>>,
    Pick<Artifact, "metadata"> {
  readonly note: string | null;
  readonly reply_to: string | null;
  readonly deliver: string;
  readonly superseded: boolean;
}

export interface ListPage {
  readonly artifacts: Artifact[];
  readonly next_cursor: string | null;
}

export interface InboxPage {
  readonly grants: InboxEntry[];
  readonly next_cursor: string | null;
  readonly latest: string;
}
