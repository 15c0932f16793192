/** What the operations on artifacts and grants answer. */
import type * as Contract from "../../packages/agent-files/contract/types.ts";

/** Every field of the contract: a conforming release sends the optional ones, too. */
export type Artifact = Readonly<Required<Contract.Artifact>>;

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

export type Download = Readonly<Required<Contract.Download>>;

export type InboxEntry = Readonly<Required<Contract.InboxEntry>>;

export interface ListPage {
  readonly artifacts: Artifact[];
  readonly next_cursor: string | null;
}

export interface InboxPage {
  readonly grants: InboxEntry[];
  readonly next_cursor: string | null;
  readonly latest: string;
}
