// Made by `deno task client:types` of the OpenAPI document.

export interface paths {
  "/register": {
    /** Register a file under a name (`key`) and get the URL to upload it to. */
    post: operations["register"];
  };
  "/commit": {
    /** Verify the uploaded bytes and make them the artifact's final content. */
    post: operations["commit"];
  };
  "/grant": {
    /** Give another agent, every agent with a tag, or anyone with the link, access to an artifact until a given time. */
    post: operations["grant"];
  };
  "/revoke": {
    /** End one grant, or every live grant of an artifact to an agent or to a tag. */
    post: operations["revoke"];
  };
  "/fetch": {
    /** Exchange a grant token for a short-lived download URL. */
    post: operations["fetchGrant"];
  };
  "/open": {
    /** Get a short-lived download URL with your own credential. */
    post: operations["openArtifact"];
  };
  "/grants": {
    /** List the live grants that an agent has given, the first to expire first. */
    post: operations["grants"];
  };
  "/recipients": {
    /** List whom an agent has handed files to, and who has handed files to it. */
    post: operations["recipients"];
  };
  "/standing/create": {
    /** Grant every file that you will commit under a name or a prefix. */
    post: operations["standingCreate"];
  };
  "/standing/list": {
    /** List the live standing grants of an agent, the first to expire first. */
    post: operations["standingList"];
  };
  "/standing/end": {
    /** End a standing grant and the grants that it made. */
    post: operations["standingEnd"];
  };
  "/inbox": {
    /** List the live grants to an agent and to its tags, newest first. */
    post: operations["inbox"];
  };
  "/inbox/block": {
    /** Hide a sender's grants from the inbox. */
    post: operations["inboxBlock"];
  };
  "/inbox/unblock": {
    /** Show a sender's grants in the inbox again. */
    post: operations["inboxUnblock"];
  };
  "/inbox/take": {
    /** Take grants as work, the oldest first: nobody else gets them meanwhile. */
    post: operations["inboxTake"];
  };
  "/inbox/extend": {
    /** Hold a taken task for longer. */
    post: operations["inboxExtend"];
  };
  "/inbox/done": {
    /** Record that a task is done, and grant its giver the file that answers it. */
    post: operations["inboxDone"];
  };
  "/inbox/fail": {
    /** Give a taken task back: it waits again after a pause, or is parked. */
    post: operations["inboxFail"];
  };
  "/inbox/requeue": {
    /** Let a parked task wait again. */
    post: operations["inboxRequeue"];
  };
  "/list": {
    /** List an agent's current artifacts whose names begin with a prefix, in byte order of name. */
    post: operations["list"];
  };
  "/versions": {
    /** List the versions of a file that you may open, newest first. */
    post: operations["versions"];
  };
  "/delete": {
    /** Delete an artifact and end its grants. */
    post: operations["deleteArtifact"];
  };
  "/events": {
    /** List what an agent did and what happened to it, oldest first. */
    post: operations["events"];
  };
  "/wait": {
    /** Wait for anything new for an agent, in one request. */
    post: operations["wait"];
  };
  "/enroll": {
    /** Get an agent key for a proof of origin: an enrolment key, or an issuer's token. */
    post: operations["enroll"];
  };
  "/leave": {
    /** End this agent: its agent keys, its peer and its rules. */
    post: operations["leave"];
  };
  "/sweep": {
    /** Remove expired, deleted and abandoned files, and old events. */
    post: operations["sweep"];
  };
  "/whoami": {
    /** Show who the caller is authenticated as. */
    get: operations["whoami"];
  };
  "/health": {
    /** Check whether the database answers. */
    get: operations["health"];
  };
  "/metrics": {
    /** Get the metrics of the function and of what it stores, for Prometheus. */
    get: operations["metrics"];
  };
}
export type webhooks = Record<string, never>;
export interface components {
  schemas: {
    RegisteredArtifact: {
      /** @description Identifies the artifact. An artifact's content never changes. */
      artifact_id: string;
      /** @description The file's name. */
      key: string;
      /** @description The file's media type. */
      mime: string;
      /** @description The file's size in bytes. */
      size: number;
      /** @description The SHA-256 digest of the file, in lower-case hex; null before the commit. */
      sha256: string | null;
      /** @description Counts the commits under the file's name, from 1. A number is never used again. Null before the commit. */
      version?: number | null;
      /** @description What the owner registered beside the file; `{}`: nothing. */
      metadata?: {
        [key: string]: string;
      };
      /** @description The agent that owns the artifact. */
      agent_id: string;
      /** @description How many days the artifact lasts after its commit. */
      ttl_days: number;
      /**
       * @description `pending` until it is committed.
       * @enum {string}
       */
      state: "pending" | "committed" | "superseded" | "deleted";
      /**
       * Format: date-time
       * @description When it was registered.
       */
      created_at: string;
      /** @description When it was committed; null before the commit. */
      committed_at: string | null;
      /** @description When it expires; null before the commit. */
      expires_at: string | null;
      /**
       * Format: uri
       * @description PUT the bytes to this URL until `upload_expires_at`. It needs no credential.
       */
      upload_url: string;
      /** @description The same upload for supabase-js: `storage.from(bucket).uploadToSignedUrl(path, token, body)`. */
      upload: {
        /** @description The bucket in Storage. */
        bucket: string;
        /** @description Where the upload goes in the bucket. */
        path: string;
        /** @description Storage's token for this upload. */
        token: string;
      };
      /**
       * Format: date-time
       * @description When `upload_url` stops working.
       */
      upload_expires_at: string;
    };
    ErrorBody: {
      /** @description The error. */
      error: {
        /**
         * @description What went wrong. Codes do not change between releases.
         * @enum {string}
         */
        code:
          | "invalid_json"
          | "unauthenticated"
          | "superseded"
          | "enrolment_refused"
          | "token_replayed"
          | "forbidden"
          | "not_found"
          | "artifact_not_found"
          | "grant_not_found"
          | "peer_not_found"
          | "method_not_allowed"
          | "upload_missing"
          | "artifact_not_committed"
          | "already_committed"
          | "commit_in_progress"
          | "agent_name_taken"
          | "policy_changed"
          | "policy_rule"
          | "pubkey_in_use"
          | "network_full"
          | "quota_exceeded"
          | "limit_exceeded"
          | "idempotency_conflict"
          | "take_lapsed"
          | "artifact_expired"
          | "artifact_lost"
          | "grant_expired"
          | "grant_revoked"
          | "grant_used_up"
          | "body_too_large"
          | "invalid_request"
          | "position_expired"
          | "size_mismatch"
          | "checksum_mismatch"
          | "rate_limited"
          | "internal"
          | "upstream_unavailable"
          | "maintenance"
          | "misconfigured";
        /** @description An explanation for people. */
        message: string;
        /** @description Whether the same request, unchanged, can succeed later. */
        retryable: boolean;
        /** @description The answer's `x-request-id`, by which to find the request in the log. */
        request_id: string;
        /** @description Details for programs. Their form depends on `code`. */
        details?: unknown;
      };
    };
    Artifact: {
      /** @description Identifies the artifact. An artifact's content never changes. */
      artifact_id: string;
      /** @description The file's name. */
      key: string;
      /** @description The file's media type. */
      mime: string;
      /** @description The file's size in bytes. */
      size: number;
      /** @description The SHA-256 digest of the file, in lower-case hex; null before the commit. */
      sha256: string | null;
      /** @description Counts the commits under the file's name, from 1. A number is never used again. Null before the commit. */
      version?: number | null;
      /** @description What the owner registered beside the file; `{}`: nothing. */
      metadata?: {
        [key: string]: string;
      };
      /** @description The agent that owns the artifact. */
      agent_id: string;
      /** @description How many days the artifact lasts after its commit. */
      ttl_days: number;
      /**
       * @description `pending` until it is committed; `superseded` after its agent has committed another file under the same name.
       * @enum {string}
       */
      state: "pending" | "committed" | "superseded" | "deleted";
      /**
       * Format: date-time
       * @description When it was registered.
       */
      created_at: string;
      /** @description When it was committed; null before the commit. */
      committed_at: string | null;
      /** @description When it expires; null before the commit. */
      expires_at: string | null;
    };
    VerifyingArtifact: {
      /** @description Identifies the artifact. An artifact's content never changes. */
      artifact_id: string;
      /** @description The file's name. */
      key: string;
      /** @description The file's media type. */
      mime: string;
      /** @description The file's size in bytes. */
      size: number;
      /** @description The SHA-256 digest of the file, in lower-case hex; null before the commit. */
      sha256: string | null;
      /** @description Counts the commits under the file's name, from 1. A number is never used again. Null before the commit. */
      version?: number | null;
      /** @description What the owner registered beside the file; `{}`: nothing. */
      metadata?: {
        [key: string]: string;
      };
      /** @description The agent that owns the artifact. */
      agent_id: string;
      /** @description How many days the artifact lasts after its commit. */
      ttl_days: number;
      /**
       * @description Send the same request again.
       * @constant
       */
      state: "verifying";
      /**
       * Format: date-time
       * @description When it was registered.
       */
      created_at: string;
      /** @description When it was committed; null before the commit. */
      committed_at: string | null;
      /** @description When it expires; null before the commit. */
      expires_at: string | null;
      /** @description How many bytes have been verified so far. */
      verified_bytes: number;
    };
    Grant: {
      /** @description Identifies the grant. Nobody gets access by knowing it. */
      grant_id: string;
      /** @description Identifies the artifact. An artifact's content never changes. */
      artifact_id: string;
      /** @description The agent that has access; null: every agent with `to_tag`, if that is there, otherwise anyone with the token. */
      to_agent: string | null;
      /** @description The tag whose agents have access. Missing if the grant is not to a tag. */
      to_tag?: string;
      /**
       * Format: date-time
       * @description When the grant expires.
       */
      expires_at: string;
      /** @description For /fetch and for the link /d/<token>. Anyone who has it can download the file. It is never shown again: null if the answer is `repeated`. */
      token: string | null;
      /**
       * @description An earlier request with this `idempotency_key` made the grant. Its token stays valid. Missing: this request made it.
       * @constant
       */
      repeated?: true;
      /**
       * @description Nobody has had the name `to_agent` so far: check its spelling.
       * @constant
       */
      unknown_recipient?: true;
    };
    Download: {
      /**
       * Format: uri
       * @description GET the bytes from this URL until `expires_at`. It supports Range and needs no credential.
       */
      url: string;
      /**
       * Format: date-time
       * @description When `url` stops working.
       */
      expires_at: string;
      /** @description Identifies the artifact. An artifact's content never changes. */
      artifact_id: string;
      /** @description The file's name. */
      key: string;
      /** @description The file's media type. */
      mime: string;
      /** @description The file's size in bytes. */
      size: number;
      /** @description The SHA-256 digest of the file, in lower-case hex. */
      sha256: string;
      /** @description Counts the commits under the file's name, from 1. A number is never used again. Null before the commit. */
      version?: number | null;
      /** @description What the owner registered beside the file; `{}`: nothing. */
      metadata?: {
        [key: string]: string;
      };
    };
    GivenGrant: {
      /** @description Identifies the grant. Nobody gets access by knowing it. */
      grant_id: string;
      /** @description Identifies the artifact. An artifact's content never changes. */
      artifact_id: string;
      /** @description The file's name. */
      key: string;
      /** @description The agent that has access; null: every agent with `to_tag`, if that is there, otherwise anyone with the token. */
      to_agent: string | null;
      /** @description The tag whose agents have access. Missing if the grant is not to a tag. */
      to_tag?: string;
      /**
       * Format: date-time
       * @description When it was granted.
       */
      granted_at: string;
      /**
       * Format: date-time
       * @description When the grant expires.
       */
      expires_at: string;
      /** @description The standing grant that made it. Missing if none did. */
      standing_id?: string;
      /** @description How many downloads it allows; null: any number. */
      max_downloads: number | null;
      /** @description With `max_downloads`, how many downloads were used. Without it, how many the token was used for; /events shows what the agent opened with its own agent key. */
      downloads: number;
      /** @description What the giver says about it; null: nothing. */
      note?: string | null;
      /** @description Whether each agent of the tag works on it, or one; null: for anyone with the token. */
      deliver?: ("each" | "one") | null;
      /** @description What became of it; null: see `tasks`, or the grant is for anyone with the token. */
      state?: ("waiting" | "taken" | "done" | "parked") | null;
      /** @description How often it was taken so far. */
      attempt?: number | null;
      /** @description When the grantee first saw it: in its /inbox, or by taking it. */
      shown_at?: string | null;
      /** @description The agent that holds it, or that finished it; null: nobody does. */
      taken_by?: string | null;
      /** @description When the take lapses; null: nobody holds it. */
      taken_until?: string | null;
      /** @description When it was done; null: it is not. */
      done_at?: string | null;
      /** @description Why the last attempt failed, in the words of its taker; null: it did not. */
      reason?: string | null;
      /** @description The grant that answers it; null: it has no answer. */
      reply_grant_id?: string | null;
      /** @description For a grant to each agent of a tag: how many of them have it in which state, counted up to about 1000; null: for any other. */
      tasks?: {
        /** @description How many of its tasks are waiting. */
        waiting: number;
        /** @description How many of its tasks are taken. */
        taken: number;
        /** @description How many of its tasks are done. */
        done: number;
        /** @description How many of its tasks are parked. */
        parked: number;
      } | null;
      /** @description Whether the grant has ended. Only with `grant_id`: lists show live grants. */
      ended?: boolean;
    };
    Recipient: {
      /** @description The other agent; null: the entry is about `tag`. */
      agent_id: string | null;
      /** @description The tag to which the agent has given. Missing if the entry is about an agent. */
      tag?: string;
      /** @description When the last of the live grants to it expires; null: there is no such grant. */
      given_until: string | null;
      /** @description When the last of its live grants to the agent, or to a tag of the agent, expires; null: there is no such grant, or the agent has blocked it. */
      received_until: string | null;
    };
    CreatedStandingGrant: {
      /** @description Identifies the standing grant. */
      standing_id: string;
      /** @description The name of the file whose commits are granted; null: those under `prefix`. */
      key: string | null;
      /** @description The beginning of the names of the files whose commits are granted; null: `key`. */
      prefix: string | null;
      /** @description The agent that gets access; null: see `to_tag`. */
      to_agent: string | null;
      /** @description The tag whose agents have access. Missing if the grant is not to a tag. */
      to_tag?: string;
      /** @description How many days each grant lasts; null: until `expires_at`. */
      grant_days: number | null;
      /** @description What the giver says about it; null: nothing. */
      note?: string | null;
      /**
       * @description `one`: exactly one agent of the tag works on it.
       * @enum {string}
       */
      deliver?: "each" | "one";
      /**
       * Format: date-time
       * @description When it was made.
       */
      created_at: string;
      /**
       * Format: date-time
       * @description From when on commits are not granted any more.
       */
      expires_at: string;
      /** @description With `existing`, how many files were granted that were there already. */
      granted: number;
    };
    StandingGrant: {
      /** @description Identifies the standing grant. */
      standing_id: string;
      /** @description The name of the file whose commits are granted; null: those under `prefix`. */
      key: string | null;
      /** @description The beginning of the names of the files whose commits are granted; null: `key`. */
      prefix: string | null;
      /** @description The agent that gets access; null: see `to_tag`. */
      to_agent: string | null;
      /** @description The tag whose agents have access. Missing if the grant is not to a tag. */
      to_tag?: string;
      /** @description How many days each grant lasts; null: until `expires_at`. */
      grant_days: number | null;
      /** @description What the giver says about it; null: nothing. */
      note?: string | null;
      /**
       * @description `one`: exactly one agent of the tag works on it.
       * @enum {string}
       */
      deliver?: "each" | "one";
      /**
       * Format: date-time
       * @description When it was made.
       */
      created_at: string;
      /**
       * Format: date-time
       * @description From when on commits are not granted any more.
       */
      expires_at: string;
    };
    EndedStandingGrant: {
      /** @description Identifies the standing grant. */
      standing_id: string;
      /** @description Whether it was live until now. */
      ended: boolean;
      /** @description How many grants this call ended. */
      revoked: number;
      /** @description Whether more grants of it are live: send the same request again. */
      remaining: boolean;
    };
    InboxEntry: {
      /** @description Identifies the artifact. An artifact's content never changes. */
      artifact_id: string;
      /** @description The file's name. */
      key: string;
      /** @description The file's media type. */
      mime: string;
      /** @description The file's size in bytes. */
      size: number;
      /** @description The SHA-256 digest of the file, in lower-case hex. */
      sha256: string;
      /** @description Counts the commits under the file's name, from 1. A number is never used again. Null before the commit. */
      version?: number | null;
      /** @description What the owner registered beside the file; `{}`: nothing. */
      metadata?: {
        [key: string]: string;
      };
      /** @description Identifies the grant. Nobody gets access by knowing it. */
      grant_id: string;
      /** @description The agent that gave the grant. */
      from_agent: string;
      /**
       * Format: date-time
       * @description When it was granted.
       */
      granted_at: string;
      /**
       * Format: date-time
       * @description When the grant expires.
       */
      expires_at: string;
      /** @description What the giver says about it; null: nothing. */
      note?: string | null;
      /** @description The grant that this one answers; null: none. */
      reply_to?: string | null;
      /**
       * @description `one`: exactly one agent of the tag works on it.
       * @enum {string}
       */
      deliver?: "each" | "one";
      /** @description Whether the agent has committed another file under the same name since. */
      superseded?: boolean;
      /**
       * @description `waiting`: it can be taken, from `next_at` on. `parked`: it failed too often, or for good, and waits for its giver.
       * @enum {string}
       */
      state?: "waiting" | "taken" | "done" | "parked";
      /** @description How often it was taken so far. */
      attempt?: number;
      /** @description When its pause ends; null: it has none. */
      next_at?: string | null;
    };
    Task: {
      /** @description Names this take. It is needed to extend, finish or fail it. */
      take_id: string;
      /**
       * Format: date-time
       * @description When the take lapses, unless it is extended: then another agent may get the task.
       */
      taken_until: string;
      /** @description Identifies the artifact. An artifact's content never changes. */
      artifact_id: string;
      /** @description The file's name. */
      key: string;
      /** @description The file's media type. */
      mime: string;
      /** @description The file's size in bytes. */
      size: number;
      /** @description The SHA-256 digest of the file, in lower-case hex. */
      sha256: string;
      /** @description Counts the commits under the file's name, from 1. A number is never used again. Null before the commit. */
      version?: number | null;
      /** @description What the owner registered beside the file; `{}`: nothing. */
      metadata?: {
        [key: string]: string;
      };
      /** @description Identifies the grant. Nobody gets access by knowing it. */
      grant_id: string;
      /** @description The agent that gave the grant. */
      from_agent: string;
      /**
       * Format: date-time
       * @description When it was granted.
       */
      granted_at: string;
      /**
       * Format: date-time
       * @description When the grant expires.
       */
      expires_at: string;
      /** @description What the giver says about it; null: nothing. */
      note?: string | null;
      /** @description The grant that this one answers; null: none. */
      reply_to?: string | null;
      /**
       * @description `one`: exactly one agent of the tag works on it.
       * @enum {string}
       */
      deliver?: "each" | "one";
      /** @description Whether the agent has committed another file under the same name since. */
      superseded?: boolean;
      /**
       * @description `waiting`: it can be taken, from `next_at` on. `parked`: it failed too often, or for good, and waits for its giver.
       * @enum {string}
       */
      state?: "waiting" | "taken" | "done" | "parked";
      /** @description How often it was taken so far. */
      attempt?: number;
      /** @description When its pause ends; null: it has none. */
      next_at?: string | null;
    };
    DeletedArtifact: {
      /** @description Identifies the artifact. An artifact's content never changes. */
      artifact_id: string;
      /** @description The file's name. */
      key: string;
      /** @description The file's media type. */
      mime: string;
      /** @description The file's size in bytes. */
      size: number;
      /** @description The SHA-256 digest of the file, in lower-case hex; null before the commit. */
      sha256: string | null;
      /** @description Counts the commits under the file's name, from 1. A number is never used again. Null before the commit. */
      version?: number | null;
      /** @description What the owner registered beside the file; `{}`: nothing. */
      metadata?: {
        [key: string]: string;
      };
      /** @description The agent that owns the artifact. */
      agent_id: string;
      /** @description How many days the artifact lasts after its commit. */
      ttl_days: number;
      /**
       * @description It was deleted.
       * @constant
       */
      state: "deleted";
      /**
       * Format: date-time
       * @description When it was registered.
       */
      created_at: string;
      /** @description When it was committed; null before the commit. */
      committed_at: string | null;
      /** @description When it expires; null before the commit. */
      expires_at: string | null;
    };
    Event: {
      /** @description Identifies the event. */
      event_id: string;
      /**
       * Format: date-time
       * @description When it happened.
       */
      at: string;
      /**
       * @description What kind of caller did it; `user`: a person who is signed in as the agent.
       * @enum {string}
       */
      actor_kind: "agent" | "user" | "operator" | "grant_token";
      /** @description The agent that did it; null: no agent did. */
      actor: string | null;
      /** @description The id of the user who did it. No agent but `actor` sees it. */
      user_id?: string;
      /** @description The id of the agent key that was used. No agent but `actor` sees it. */
      key_id?: string;
      /** @description The agent whose property or access the event is about. */
      agent_id: string | null;
      /**
       * @description What happened.
       * @enum {string}
       */
      type:
        | "artifact.committed"
        | "artifact.registered"
        | "artifact.opened"
        | "artifact.fetched"
        | "artifact.superseded"
        | "artifact.deleted"
        | "artifact.expired"
        | "artifact.abandoned"
        | "artifact.lost"
        | "artifact.recovered"
        | "grant.created"
        | "grant.revoked"
        | "task.taken"
        | "task.done"
        | "task.failed"
        | "task.parked"
        | "standing.created"
        | "standing.ended";
      /** @description Identifies the artifact. An artifact's content never changes. */
      artifact_id?: string;
      /** @description The file's name. Only its owner sees it, and an agent that opened it. */
      key?: string;
      /** @description Identifies the grant. Nobody gets access by knowing it. */
      grant_id?: string;
      /** @description Identifies the standing grant. */
      standing_id?: string;
      /** @description The agent that gave the grant. */
      from_agent?: string;
      /** @description The agent that has access. Missing if the grant is to a tag, or for anyone with the token. */
      to_agent?: string;
      /** @description The tag whose agents have access. Only the granting agent sees its events; the tag's agents find it in their /inbox. */
      to_tag?: string;
      /**
       * Format: date-time
       * @description When the grant expires.
       */
      expires_at?: string;
      /** @description How many downloads the grant allows. */
      max_downloads?: number;
      /** @description Of a task: the attempt that began or ended. */
      attempt?: number;
      /**
       * Format: date-time
       * @description Of a task that failed: when it can be taken again.
       */
      next_at?: string;
      /** @description Of a task that is done: the grant that answers it. */
      reply_grant_id?: string;
      /** @description The SHA-256 digest of the file, in lower-case hex. */
      sha256?: string;
      /** @description How many reads this event stands for. Reads are logged once a minute at most. */
      reads?: number;
      /**
       * Format: date-time
       * @description When the last of these reads was, if later than `at`.
       */
      last_read_at?: string;
      /** @description The version that the commit gave the file. */
      version?: number;
      /** @description The artifact that the committed one replaced. */
      superseded?: string;
      /** @description The artifact that replaced this one under its name. */
      superseded_by?: string;
    };
    News: {
      /** @description If the agent runs another version, call /wg_config. Missing without a peer. */
      config_version?: number;
      /** @description Present with `inbox_after`. If `changed`, call /inbox. */
      inbox?: {
        /** @description The position to send in the next request. Nothing before it is new. */
        latest: string;
        /** @description Whether something is new. */
        changed: boolean;
      };
      /** @description Present with `events_after`. If `changed`, call /events. */
      events?: {
        /** @description The position to send in the next request. Nothing before it is new. */
        latest: string;
        /** @description Whether something is new. */
        changed: boolean;
      };
      /** @description Without `wait_seconds`, send the next request after this many seconds. */
      heartbeat_interval_seconds: number;
    };
  };
}
export type $defs = Record<string, never>;
export interface operations {
  register: {
    requestBody: {
      content: {
        "application/json": {
          /** @description Required from the operator. An agent may only name itself. */
          agent_id?: string;
          /** @description The file's name: at most 1024 bytes of UTF-8, in segments joined by `/`. */
          key: string;
          /** @description The file's media type. */
          mime: string;
          /** @description The file's size in bytes. */
          size: number;
          /** @description How many days to keep the file after its commit. */
          ttl_days: number;
          /** @description Texts by name, which are shown with the file and never change. */
          metadata?: {
            [key: string]: string;
          };
          /** @description The commit ends superseded versions of the name beyond that many, the oldest first. Default: all stay until they expire. */
          keep_versions?: number;
          /** @description With `keep_versions`: also end versions that others may still open. */
          end_grants?: boolean;
        };
      };
    };
    responses: {
      /** @description Done. */
      200: {
        content: {
          "application/json": components["schemas"]["RegisteredArtifact"];
        };
      };
    };
  };
  commit: {
    requestBody: {
      content: {
        "application/json": {
          /** @description The artifact's id, `art_` and 32 hex digits. */
          artifact_id: string;
          /** @description The SHA-256 digest of the file, in hex. */
          sha256: string;
        };
      };
    };
    responses: {
      /** @description Done. */
      200: {
        content: {
          "application/json": components["schemas"]["Artifact"];
        };
      };
      /** @description Not done yet. Send the same request again. */
      202: {
        content: {
          "application/json": components["schemas"]["VerifyingArtifact"];
        };
      };
    };
  };
  grant: {
    requestBody: {
      content: {
        "application/json": {
          /** @description The artifact's id, `art_` and 32 hex digits. */
          artifact_id: string;
          /** @description The agent that gets access. Default: anyone with the token. */
          to_agent?: string;
          /** @description In place of `to_agent`: all agents with this tag. */
          to_tag?: string;
          /**
           * Format: date-time
           * @description When the grant expires.
           */
          expires_at: string;
          /** @description How many downloads to allow, of all together. Default: any number. */
          max_downloads?: number;
          /** @description What the file is for. */
          note?: string;
          /** @description A grant that the caller gave or received, and that this one answers. */
          reply_to?: string;
          /**
           * @description With `to_tag`: `one` if exactly one of the agents is to work on it. Default: `each` of them.
           * @enum {string}
           */
          deliver?: "each" | "one";
          /** @description After how many failed attempts its task is parked. Default: 5. */
          max_attempts?: number;
          /** @description For 24 hours, the same request with this key makes no second grant. */
          idempotency_key?: string;
          /** @description Whether to refuse a `to_agent` whose name nobody has had so far. Default: false. */
          known_only?: boolean;
        };
      };
    };
    responses: {
      /** @description Done. */
      200: {
        content: {
          "application/json": components["schemas"]["Grant"];
        };
      };
    };
  };
  revoke: {
    requestBody: {
      content: {
        "application/json": {
          /** @description The artifact's id, `art_` and 32 hex digits. */
          artifact_id?: string;
          /** @description The agent whose access ends. */
          to_agent?: string | null;
          /** @description The tag whose agents lose this access. */
          to_tag?: string | null;
          /** @description The grant's id, `grant_` and 32 hex digits. */
          grant_id?: string;
          /**
           * Format: date-time
           * @description Ignored.
           */
          expires_at?: string;
          /** @description Ignored. */
          max_downloads?: number;
          /** @description Ignored. */
          token?: string;
        };
      };
    };
    responses: {
      /** @description Done. */
      200: {
        content: {
          "application/json": {
            /** @description How many grants this call ended. */
            revoked: number;
            /** @description The grants that this call ended. */
            grant_ids: string[];
          };
        };
      };
    };
  };
  fetchGrant: {
    requestBody: {
      content: {
        "application/json": {
          /** @description A grant token, `g_` and 43 characters. */
          grant_token: string;
        };
      };
    };
    responses: {
      /** @description Done. */
      200: {
        content: {
          "application/json": components["schemas"]["Download"];
        };
      };
    };
  };
  openArtifact: {
    requestBody: {
      content: {
        "application/json": {
          /** @description The artifact's id, `art_` and 32 hex digits. */
          artifact_id?: string;
          /** @description The file's name: at most 1024 bytes of UTF-8, in segments joined by `/`. */
          key?: string;
          /** @description With `key`: the agent that owns the file. Default: the caller. */
          agent_id?: string;
          /** @description With `key`: which version of the file. Default: the current one. */
          version?: number;
          /** @description In bytes. A larger file is refused, which does not count as a download. */
          max_size?: number;
        };
      };
    };
    responses: {
      /** @description Done. */
      200: {
        content: {
          "application/json": components["schemas"]["Download"];
        };
      };
    };
  };
  grants: {
    requestBody: {
      content: {
        "application/json": {
          /** @description Required from the operator. An agent may only name itself. */
          agent_id?: string;
          /** @description Only grants of this artifact. */
          artifact_id?: string;
          /** @description Only grants that name this agent. */
          to_agent?: string;
          /** @description Only grants to this tag. */
          to_tag?: string;
          /** @description The grant's id, `grant_` and 32 hex digits. */
          grant_id?: string;
          /**
           * @description The page size.
           * @default 100
           */
          limit?: number;
          /** @description The previous page's `next_cursor`. */
          cursor?: string;
        };
      };
    };
    responses: {
      /** @description Done. */
      200: {
        content: {
          "application/json": {
            grants: components["schemas"]["GivenGrant"][];
            /** @description The `cursor` of the next page; null: this is the last page. */
            next_cursor: string | null;
          };
        };
      };
    };
  };
  recipients: {
    requestBody: {
      content: {
        "application/json": {
          /** @description Required from the operator. An agent may only name itself. */
          agent_id?: string;
          /**
           * @description The page size.
           * @default 100
           */
          limit?: number;
          /** @description The previous page's `next_cursor`. */
          cursor?: string;
        };
      };
    };
    responses: {
      /** @description Done. */
      200: {
        content: {
          "application/json": {
            recipients: components["schemas"]["Recipient"][];
            /** @description The `cursor` of the next page; null: this is the last page. */
            next_cursor: string | null;
          };
        };
      };
    };
  };
  standingCreate: {
    requestBody: {
      content: {
        "application/json": {
          /** @description Required from the operator. An agent may only name itself. */
          agent_id?: string;
          /** @description The file's name: at most 1024 bytes of UTF-8, in segments joined by `/`. */
          key?: string;
          /** @description The beginning of the files' names: at most 1024 bytes of UTF-8. */
          prefix?: string;
          /** @description The agent that gets access. */
          to_agent?: string;
          /** @description In place of `to_agent`: all agents with this tag. */
          to_tag?: string;
          /**
           * Format: date-time
           * @description From when on commits are not granted any more.
           */
          expires_at: string;
          /** @description How many days each grant lasts, from its commit. Default: until `expires_at`. */
          grant_days?: number;
          /**
           * @description Also grant what is there now: at most 1000 files.
           * @default false
           */
          existing?: boolean;
          /** @description What the file is for. */
          note?: string;
          /**
           * @description With `to_tag`: `one` if exactly one of the agents is to work on each file. Default: `each` of them.
           * @enum {string}
           */
          deliver?: "each" | "one";
        };
      };
    };
    responses: {
      /** @description Done. */
      200: {
        content: {
          "application/json": components["schemas"]["CreatedStandingGrant"];
        };
      };
    };
  };
  standingList: {
    requestBody: {
      content: {
        "application/json": {
          /** @description Required from the operator. An agent may only name itself. */
          agent_id?: string;
          /**
           * @description The page size.
           * @default 100
           */
          limit?: number;
          /** @description The previous page's `next_cursor`. */
          cursor?: string;
        };
      };
    };
    responses: {
      /** @description Done. */
      200: {
        content: {
          "application/json": {
            standing_grants: components["schemas"]["StandingGrant"][];
            /** @description The `cursor` of the next page; null: this is the last page. */
            next_cursor: string | null;
          };
        };
      };
    };
  };
  standingEnd: {
    requestBody: {
      content: {
        "application/json": {
          /** @description The standing grant's id, `standing_` and 32 hex digits. */
          standing_id: string;
          /**
           * @description False: the grants that it made stay until their own end.
           * @default true
           */
          end_grants?: boolean;
        };
      };
    };
    responses: {
      /** @description Done. */
      200: {
        content: {
          "application/json": components["schemas"]["EndedStandingGrant"];
        };
      };
    };
  };
  inbox: {
    requestBody: {
      content: {
        "application/json": {
          /** @description Required from the operator. An agent may only name itself. */
          agent_id?: string;
          /** @description Only grants from this agent. */
          from_agent?: string;
          /** @description The `latest` of an earlier answer. */
          after?: string;
          /**
           * @description The page size.
           * @default 100
           */
          limit?: number;
          /** @description The previous page's `next_cursor`. */
          cursor?: string;
          /** @description Only tasks in these states. Default: waiting, and what the agent has taken. */
          states?: ("waiting" | "taken" | "done" | "parked")[];
          /**
           * @description How many seconds to wait for something new.
           * @default 0
           */
          wait_seconds?: number;
        };
      };
    };
    responses: {
      /** @description Done. */
      200: {
        content: {
          "application/json": {
            grants: components["schemas"]["InboxEntry"][];
            /** @description The `cursor` of the next page; null: this is the last page. */
            next_cursor: string | null;
            /** @description The `after` of the next request. */
            latest: string;
          };
        };
      };
    };
  };
  inboxBlock: {
    requestBody: {
      content: {
        "application/json": {
          /** @description Required from the operator. An agent may only name itself. */
          agent_id?: string;
          /** @description The agent whose grants to hide or show. */
          from_agent: string;
        };
      };
    };
    responses: {
      /** @description Done. */
      200: {
        content: {
          "application/json": {
            /** @description The sender. */
            from_agent: string;
            /**
             * @description Its grants are hidden.
             * @constant
             */
            blocked: true;
          };
        };
      };
    };
  };
  inboxUnblock: {
    requestBody: {
      content: {
        "application/json": {
          /** @description Required from the operator. An agent may only name itself. */
          agent_id?: string;
          /** @description The agent whose grants to hide or show. */
          from_agent: string;
        };
      };
    };
    responses: {
      /** @description Done. */
      200: {
        content: {
          "application/json": {
            /** @description The sender. */
            from_agent: string;
            /**
             * @description Its grants are shown.
             * @constant
             */
            blocked: false;
          };
        };
      };
    };
  };
  inboxTake: {
    requestBody: {
      content: {
        "application/json": {
          /** @description Required from the operator. An agent may only name itself. */
          agent_id?: string;
          /**
           * @description How many tasks to take.
           * @default 1
           */
          max?: number;
          /**
           * @description For how many seconds the caller holds it.
           * @default 300
           */
          seconds?: number;
          /** @description The beginning of the files' names: at most 1024 bytes of UTF-8. */
          prefix?: string;
          /** @description Only grants from this agent. */
          from_agent?: string;
          /**
           * @description How many seconds to wait for something new.
           * @default 0
           */
          wait_seconds?: number;
        };
      };
    };
    responses: {
      /** @description Done. */
      200: {
        content: {
          "application/json": {
            tasks: components["schemas"]["Task"][];
          };
        };
      };
    };
  };
  inboxExtend: {
    requestBody: {
      content: {
        "application/json": {
          /** @description The take, `take_` and 32 hex digits. */
          take_id: string;
          /** @description For how many seconds the caller holds it. */
          seconds: number;
        };
      };
    };
    responses: {
      /** @description Done. */
      200: {
        content: {
          "application/json": {
            /** @description Names this take. It is needed to extend, finish or fail it. */
            take_id: string;
            /**
             * Format: date-time
             * @description When the take lapses, unless it is extended: then another agent may get the task.
             */
            taken_until: string;
          };
        };
      };
    };
  };
  inboxDone: {
    requestBody: {
      content: {
        "application/json": {
          /** @description Required from the operator. An agent may only name itself. */
          agent_id?: string;
          /** @description The take, `take_` and 32 hex digits. */
          take_id?: string;
          /** @description The grant's id, `grant_` and 32 hex digits. */
          grant_id?: string;
          /** @description A committed artifact of the caller. */
          reply?: {
            /** @description The artifact's id, `art_` and 32 hex digits. */
            artifact_id: string;
            /** @description What the file is for. */
            note?: string;
            /**
             * Format: date-time
             * @description When the giver's access to it ends. Default: with the artifact.
             */
            expires_at?: string;
          };
        };
      };
    };
    responses: {
      /** @description Done. */
      200: {
        content: {
          "application/json": {
            /** @description Identifies the grant. Nobody gets access by knowing it. */
            grant_id: string;
            /**
             * @description The task's state from now on.
             * @constant
             */
            state: "done";
            /** @description The grant of the reply; null: it was done without one. */
            reply: {
              /** @description Identifies the grant. Nobody gets access by knowing it. */
              grant_id: string;
            } | null;
          };
        };
      };
    };
  };
  inboxFail: {
    requestBody: {
      content: {
        "application/json": {
          /** @description The take, `take_` and 32 hex digits. */
          take_id: string;
          /** @description Why, for its giver. */
          reason: string;
          /** @description The pause, in place of the default. */
          retry_after_seconds?: number;
          /**
           * @description Whether it cannot succeed, however often it is tried.
           * @default false
           */
          final?: boolean;
          /**
           * @description Whether the worker is being stopped, and the task is not the cause: the attempt does not count, and the task can be taken again at once. `final` parks it all the same.
           * @default false
           */
          interrupted?: boolean;
        };
      };
    };
    responses: {
      /** @description Done. */
      200: {
        content: {
          "application/json": {
            /** @description Identifies the grant. Nobody gets access by knowing it. */
            grant_id: string;
            /**
             * @description `waiting`: it can be taken, from `next_at` on. `parked`: it failed too often, or for good, and waits for its giver.
             * @enum {string}
             */
            state: "waiting" | "taken" | "done" | "parked";
            /** @description When its pause ends; null: it has none. */
            next_at: string | null;
          };
        };
      };
    };
  };
  inboxRequeue: {
    requestBody: {
      content: {
        "application/json": {
          /** @description The grant's id, `grant_` and 32 hex digits. */
          grant_id: string;
        };
      };
    };
    responses: {
      /** @description Done. */
      200: {
        content: {
          "application/json": {
            /** @description Identifies the grant. Nobody gets access by knowing it. */
            grant_id: string;
            /**
             * @description `waiting`: it can be taken, from `next_at` on. `parked`: it failed too often, or for good, and waits for its giver.
             * @enum {string}
             */
            state: "waiting" | "taken" | "done" | "parked";
          };
        };
      };
    };
  };
  list: {
    requestBody: {
      content: {
        "application/json": {
          /** @description Required from the operator. An agent may only name itself. */
          agent_id?: string;
          /**
           * @description The beginning of the files' names: at most 1024 bytes of UTF-8.
           * @default
           */
          prefix?: string;
          /**
           * @description The page size.
           * @default 100
           */
          limit?: number;
          /** @description The previous page's `next_cursor`. */
          cursor?: string;
        };
      };
    };
    responses: {
      /** @description Done. */
      200: {
        content: {
          "application/json": {
            artifacts: components["schemas"]["Artifact"][];
            /** @description The `cursor` of the next page; null: this is the last page. */
            next_cursor: string | null;
          };
        };
      };
    };
  };
  versions: {
    requestBody: {
      content: {
        "application/json": {
          /** @description The agent that owns the file. Default: the caller. */
          agent_id?: string;
          /** @description The file's name: at most 1024 bytes of UTF-8, in segments joined by `/`. */
          key: string;
          /**
           * @description The page size.
           * @default 100
           */
          limit?: number;
          /** @description The previous page's `next_cursor`. */
          cursor?: string;
        };
      };
    };
    responses: {
      /** @description Done. */
      200: {
        content: {
          "application/json": {
            versions: components["schemas"]["Artifact"][];
            /** @description The `cursor` of the next page; null: this is the last page. */
            next_cursor: string | null;
          };
        };
      };
    };
  };
  deleteArtifact: {
    requestBody: {
      content: {
        "application/json": {
          /** @description The artifact's id, `art_` and 32 hex digits. */
          artifact_id: string;
        };
      };
    };
    responses: {
      /** @description Done. */
      200: {
        content: {
          "application/json": components["schemas"]["DeletedArtifact"];
        };
      };
    };
  };
  events: {
    requestBody: {
      content: {
        "application/json": {
          /** @description The agent whose events to list. */
          agent_id?: string;
          /** @description The `latest` of an earlier answer. */
          after?: string;
          /**
           * @description The page size.
           * @default 100
           */
          limit?: number;
          /** @description Only events of these types. */
          types?: (
            | "artifact.committed"
            | "artifact.registered"
            | "artifact.opened"
            | "artifact.fetched"
            | "artifact.superseded"
            | "artifact.deleted"
            | "artifact.expired"
            | "artifact.abandoned"
            | "artifact.lost"
            | "artifact.recovered"
            | "grant.created"
            | "grant.revoked"
            | "task.taken"
            | "task.done"
            | "task.failed"
            | "task.parked"
            | "standing.created"
            | "standing.ended"
          )[];
          /**
           * @description How many seconds to wait for something new.
           * @default 0
           */
          wait_seconds?: number;
        };
      };
    };
    responses: {
      /** @description Done. */
      200: {
        content: {
          "application/json": {
            events: components["schemas"]["Event"][];
            /** @description The `after` of the next request. */
            latest: string;
            /** @description Whether to send the next request at once, because there is more. */
            more: boolean;
          };
        };
      };
    };
  };
  wait: {
    requestBody: {
      content: {
        "application/json": {
          /** @description Required from the operator. An agent may only name itself. */
          agent_id?: string;
          /** @description The `config_version` of the configuration that the agent runs now. */
          config_version?: number;
          /** @description The `latest` of an answer of /inbox, or of `inbox` here. */
          inbox_after?: string;
          /** @description The `latest` of an answer of /events, or of `events` here. */
          events_after?: string;
          /** @description What the host sees of its neighbours now. Earlier reports on others are kept until they are too old. Agents that share no active rule with it are ignored. */
          paths?: {
            /** @description The neighbour. */
            agent_id: string;
            /** @description How long ago the last handshake was; null: there was none. */
            handshake_age_seconds: number | null;
            /** @description Where the host sees the neighbour: the source of its packets. Null, or an address that other hosts cannot use: unknown. */
            endpoint: string | null;
            /**
             * @description How packets travel; `none`: no path works.
             * @enum {string}
             */
            via: "direct" | "relay" | "none";
          }[];
          /**
           * @description How many seconds to wait for something new.
           * @default 0
           */
          wait_seconds?: number;
        };
      };
    };
    responses: {
      /** @description Done. */
      200: {
        content: {
          "application/json": components["schemas"]["News"];
        };
      };
    };
  };
  enroll: {
    requestBody: {
      content: {
        "application/json": {
          /** @description The secret of an enrolment. */
          enrolment_key?: string;
          /** @description A token of an issuer that the operator trusts. */
          token?: string;
          /** @description Which enrolment a token is for, if several match it. */
          enrolment_id?: string;
          /** @description The agent's name, if the enrolment does not name it. */
          agent_name?: string;
          /** @description Which of several instances of the agent this is, if the enrolment allows several. */
          instance?: string;
        };
      };
    };
    responses: {
      /** @description Done. */
      200: {
        content: {
          "application/json": {
            /** @description Who the agent is. */
            agent_id: string;
            /** @description The agent key, shown once. */
            key: string;
            /** @description Names the agent key. */
            key_id: string;
            /**
             * Format: date-time
             * @description When the agent key ends.
             */
            expires_at: string;
            /** @description The tags of the agent. */
            tags: string[];
            /** @description How often the agent, or this instance of it, has enrolled. The first use of the new agent key ends the agent keys of earlier generations. */
            generation: number;
            /** @description How long after its last contact the agent is removed. Null: it is not. */
            ephemeral_seconds: number | null;
          };
        };
      };
    };
  };
  leave: {
    requestBody: {
      content: {
        "application/json": {
          /** @description Required from the operator. An agent may only name itself. */
          agent_id?: string;
        };
      };
    };
    responses: {
      /** @description Done. */
      200: {
        content: {
          "application/json": {
            /** @description The agent that the answer is about. */
            agent_id: string;
            /**
             * @description The agent has left.
             * @constant
             */
            left: true;
          };
        };
      };
    };
  };
  sweep: {
    requestBody: {
      content: {
        "application/json": {
          /**
           * @description The largest number of artifacts to end and of objects to remove.
           * @default 100
           */
          limit?: number;
          /**
           * @description Also remove the objects that `orphans_held` counts.
           * @default false
           */
          remove_many_orphans?: boolean;
        };
      };
    };
    responses: {
      /** @description Done. */
      200: {
        content: {
          "application/json": {
            /** @description How many artifacts were removed because they had expired or been deleted. */
            expired: number;
            /** @description How many artifacts were removed that had never been committed. */
            abandoned: number;
            /** @description How many objects were removed that belong to no artifact. */
            orphaned: number;
            /** @description How many events were removed that were older than EVENTS_RETENTION_DAYS. */
            forgotten_events: number;
            /** @description How many ephemeral agents were removed because they were out of contact too long. */
            removed_agents: number;
            /** @description How much is left for the next call. 0: nothing. */
            remaining: number;
            /** @description How many objects belong to no artifact but were kept, because they are more than 5% of the bucket: the database may be older than the bucket. They do not count in `remaining`. Look at them with `agentops fsck`, then send `remove_many_orphans`. */
            orphans_held: number;
          };
        };
      };
    };
  };
  whoami: {
    responses: {
      /** @description Who the caller is. */
      200: {
        content: {
          "application/json": {
            /**
             * @description What kind of caller it is; `user`: a person who is signed in as the agent.
             * @enum {string}
             */
            kind: "agent" | "user" | "operator";
            /** @description The agent that the caller is; null for the operator. */
            agent_id: string | null;
            /** @description The id of the agent key that the request was sent with; null: it had none. */
            key_id: string | null;
            /** @description When this agent key or the user's token expires; null: never. */
            expires_at: string | null;
            /** @description The agent's tags, which the operator and enrolments set. */
            tags: string[];
          };
        };
      };
    };
  };
  health: {
    responses: {
      /** @description The database answers. */
      200: {
        content: {
          "application/json": {
            /**
             * @description The function can serve.
             * @constant
             */
            status: "ok";
            /** @description The function's release. Only the operator gets this and the following fields. */
            version?: string;
            /**
             * Format: date-time
             * @description The function's clock.
             */
            time?: string;
            /** @description The function's numeric settings, by variable. */
            settings?: {
              [key: string]: number;
            };
            /**
             * @description Whether the legacy service_role key is accepted as the operator's, if there is one.
             * @enum {string}
             */
            legacy_key?: "refused" | "accepted" | "only_key";
          };
        };
      };
    };
  };
  metrics: {
    responses: {
      /** @description The metrics. */
      200: {
        content: {
          "text/plain": string;
        };
      };
    };
  };
}
