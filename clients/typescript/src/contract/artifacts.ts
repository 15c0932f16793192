// Made by `deno task client:types` of the OpenAPI document.

export interface paths {
  "/register": {
    /** Register a file under a key and get the URL to PUT its bytes to. */
    post: operations["register"];
  };
  "/commit": {
    /** Verify the uploaded bytes and make them the artifact's content, for good. */
    post: operations["commit"];
  };
  "/grant": {
    /** Give another agent, or whoever has the link, access to an artifact until a given time. */
    post: operations["grant"];
  };
  "/revoke": {
    /** End one grant, or every live grant of an artifact to an agent. */
    post: operations["revoke"];
  };
  "/fetch": {
    /** Exchange a grant token for a short-lived download URL. */
    post: operations["fetchGrant"];
  };
  "/open": {
    /** Get a short-lived download URL by one's own credential. */
    post: operations["openArtifact"];
  };
  "/grants": {
    /** The live grants that an agent has given, those that end first. */
    post: operations["grants"];
  };
  "/inbox": {
    /** The live grants to an agent, newest first. */
    post: operations["inbox"];
  };
  "/inbox/block": {
    /** Keep the grants of a sender out of the inbox. */
    post: operations["inboxBlock"];
  };
  "/inbox/unblock": {
    /** Show the grants of a sender in the inbox again. */
    post: operations["inboxUnblock"];
  };
  "/list": {
    /** The current artifacts of an agent under a prefix, in byte order of key. */
    post: operations["list"];
  };
  "/delete": {
    /** End an artifact, and with it its grants. */
    post: operations["deleteArtifact"];
  };
  "/events": {
    /** What happened to an agent and what it did, oldest first. */
    post: operations["events"];
  };
  "/sweep": {
    /** End what is over, and remove the bytes of what has ended. */
    post: operations["sweep"];
  };
  "/whoami": {
    /** Who the caller is to the service. */
    get: operations["whoami"];
  };
  "/health": {
    /** Whether the database answers. */
    get: operations["health"];
  };
  "/metrics": {
    /** What there is and how the function does, in numbers for Prometheus. */
    get: operations["metrics"];
  };
}
export type webhooks = Record<string, never>;
export interface components {
  schemas: {
    RegisteredArtifact: {
      /** @description Names one content, which never changes. */
      artifact_id: string;
      agent_id: string;
      key: string;
      mime: string;
      /** @description In bytes. */
      size: number;
      ttl_days: number;
      sha256: string | null;
      /** @enum {string} */
      state: "pending" | "committed" | "superseded" | "deleted";
      /** Format: date-time */
      created_at: string;
      committed_at: string | null;
      expires_at: string | null;
      /**
       * Format: uri
       * @description PUT the bytes here until `upload_expires_at`; no credential is needed.
       */
      upload_url: string;
      /** @description The same for supabase-js: `storage.from(bucket).uploadToSignedUrl(path, token, body)`. */
      upload: {
        bucket: string;
        path: string;
        token: string;
      };
      /** Format: date-time */
      upload_expires_at: string;
    };
    Error: {
      error: {
        /**
         * @description Does not change between releases.
         * @enum {string}
         */
        code:
          | "invalid_json"
          | "unauthenticated"
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
          | "pubkey_in_use"
          | "network_full"
          | "quota_exceeded"
          | "limit_exceeded"
          | "artifact_expired"
          | "grant_expired"
          | "grant_revoked"
          | "grant_used_up"
          | "body_too_large"
          | "invalid_request"
          | "size_mismatch"
          | "checksum_mismatch"
          | "rate_limited"
          | "internal"
          | "upstream_unavailable"
          | "misconfigured";
        /** @description A sentence for a person. */
        message: string;
        /** @description Whether the same request can succeed later, unchanged. */
        retryable: boolean;
        /** @description As in `x-request-id`, for the log. */
        request_id: string;
        /** @description Facts for the caller's program; what they are depends on `code`. */
        details?: unknown;
      };
    };
    Artifact: {
      /** @description Names one content, which never changes. */
      artifact_id: string;
      agent_id: string;
      key: string;
      mime: string;
      /** @description In bytes. */
      size: number;
      ttl_days: number;
      sha256: string | null;
      /** @enum {string} */
      state: "pending" | "committed" | "superseded" | "deleted";
      /** Format: date-time */
      created_at: string;
      committed_at: string | null;
      expires_at: string | null;
    };
    VerifyingArtifact: {
      /** @description Names one content, which never changes. */
      artifact_id: string;
      agent_id: string;
      key: string;
      mime: string;
      /** @description In bytes. */
      size: number;
      ttl_days: number;
      sha256: string | null;
      /** @constant */
      state: "verifying";
      /** Format: date-time */
      created_at: string;
      committed_at: string | null;
      expires_at: string | null;
      verified_bytes: number;
    };
    Grant: {
      /** @description Names a grant, and gives access to nothing. */
      grant_id: string;
      /** @description Names one content, which never changes. */
      artifact_id: string;
      /** @description Null: whoever has the token. */
      to_agent: string | null;
      /** Format: date-time */
      expires_at: string;
      /** @description For /fetch and for the link, /d/<token>. Shown here and never again. */
      token: string;
    };
    Download: {
      /**
       * Format: uri
       * @description GET the bytes here until `expires_at`; supports Range. No credential is needed.
       */
      url: string;
      /** Format: date-time */
      expires_at: string;
      /** @description Names one content, which never changes. */
      artifact_id: string;
      key: string;
      mime: string;
      /** @description In bytes. */
      size: number;
      sha256: string;
    };
    GivenGrant: {
      /** @description Names a grant, and gives access to nothing. */
      grant_id: string;
      /** @description Names one content, which never changes. */
      artifact_id: string;
      key: string;
      /** @description Null: whoever has the token. */
      to_agent: string | null;
      /** Format: date-time */
      granted_at: string;
      /** Format: date-time */
      expires_at: string;
      /** @description How many it allows; null: any number. */
      max_downloads: number | null;
      /** @description With `max_downloads`, how many of them were used. Without, how many there were by the token; what the agent opened by its own key is in /events. */
      downloads: number;
    };
    InboxEntry: {
      /** @description Names a grant, and gives access to nothing. */
      grant_id: string;
      /** @description Names one content, which never changes. */
      artifact_id: string;
      from_agent: string;
      key: string;
      mime: string;
      /** @description In bytes. */
      size: number;
      sha256: string;
      /** Format: date-time */
      granted_at: string;
      /** Format: date-time */
      expires_at: string;
    };
    DeletedArtifact: {
      /** @description Names one content, which never changes. */
      artifact_id: string;
      agent_id: string;
      key: string;
      mime: string;
      /** @description In bytes. */
      size: number;
      ttl_days: number;
      sha256: string | null;
      /** @constant */
      state: "deleted";
      /** Format: date-time */
      created_at: string;
      committed_at: string | null;
      expires_at: string | null;
    };
    Event: {
      event_id: string;
      /** Format: date-time */
      at: string;
      /**
       * @description Who did it; `user`: a signed-in user who is the agent.
       * @enum {string}
       */
      actor_kind: "agent" | "user" | "operator" | "grant_token";
      /** @description The agent that did it, if it was one. */
      actor: string | null;
      /** @description Which user it was. Other agents than `actor` are not told. */
      user_id?: string;
      /** @description The agent whose access or whose thing it was. */
      agent_id: string | null;
      /** @enum {string} */
      type:
        | "artifact.committed"
        | "artifact.registered"
        | "artifact.opened"
        | "artifact.fetched"
        | "artifact.deleted"
        | "artifact.expired"
        | "artifact.abandoned"
        | "grant.created"
        | "grant.revoked";
      /** @description Names one content, which never changes. */
      artifact_id?: string;
      /** @description Names a grant, and gives access to nothing. */
      grant_id?: string;
      from_agent?: string;
      /** @description Not where the grant is for whoever has the token. */
      to_agent?: string;
      /**
       * Format: date-time
       * @description When the grant ends.
       */
      expires_at?: string;
      /** @description How many downloads the grant allows. */
      max_downloads?: number;
      sha256?: string;
      /** @description How many reads the event stands for: at most one event a minute. */
      reads?: number;
      /**
       * Format: date-time
       * @description When the last of them was, where that is not `at`.
       */
      last_read_at?: string;
      /** @description The artifact that the committed one took the place of. */
      superseded?: string;
    };
  };
}
export type $defs = Record<string, never>;
export interface operations {
  register: {
    requestBody: {
      content: {
        "application/json": {
          /** @description Required from the operator; an agent may only name itself. */
          agent_id?: string;
          /** @description The agent's name for the artifact. */
          key: string;
          mime: string;
          /** @description In bytes. */
          size: number;
          ttl_days: number;
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
          /** @description Names one content, which never changes. */
          artifact_id: string;
          /** @description SHA-256 of the bytes. */
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
      /** @description Not done yet: send the same request again. */
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
          /** @description Names one content, which never changes. */
          artifact_id: string;
          /** @description Left out: for whoever has the token. */
          to_agent?: string;
          /** Format: date-time */
          expires_at: string;
          /** @description That many answers of /fetch, of /open and of the link together, then 410 `grant_used_up`. Left out: any number. */
          max_downloads?: number;
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
          /** @description Names one content, which never changes. */
          artifact_id?: string;
          to_agent?: string | null;
          /** @description Names a grant, and gives access to nothing. */
          grant_id?: string;
          /** Format: date-time */
          expires_at?: string;
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
          /** @description The capability that /fetch and the link take. Whoever has it has the access. */
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
          /** @description Names one content, which never changes. */
          artifact_id?: string;
          /** @description The agent's name for the artifact. */
          key?: string;
          /** @description Whose key it is; default: the caller's. */
          agent_id?: string;
          /** @description In bytes. A larger one is refused, and that counts as no download. */
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
          /** @description Required from the operator; an agent may only name itself. */
          agent_id?: string;
          /** @description Only grants of this artifact. */
          artifact_id?: string;
          /** @description Only grants to this agent. */
          to_agent?: string;
          /** @default 100 */
          limit?: number;
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
            /** @description The `cursor` of the next page; null: this is the last. */
            next_cursor: string | null;
          };
        };
      };
    };
  };
  inbox: {
    requestBody: {
      content: {
        "application/json": {
          /** @description Required from the operator; an agent may only name itself. */
          agent_id?: string;
          /** @description Only grants of this agent. */
          from_agent?: string;
          /** @description The `latest` of an earlier answer. */
          after?: string;
          /** @default 100 */
          limit?: number;
          cursor?: string;
          /**
           * @description How long to wait where there is nothing to tell yet.
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
            /** @description The `cursor` of the next page; null: this is the last. */
            next_cursor: string | null;
            /** @description `after` of a later request. */
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
          /** @description Required from the operator; an agent may only name itself. */
          agent_id?: string;
          /** @description The sender. */
          from_agent: string;
        };
      };
    };
    responses: {
      /** @description Done. */
      200: {
        content: {
          "application/json": {
            from_agent: string;
            /** @constant */
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
          /** @description Required from the operator; an agent may only name itself. */
          agent_id?: string;
          /** @description The sender. */
          from_agent: string;
        };
      };
    };
    responses: {
      /** @description Done. */
      200: {
        content: {
          "application/json": {
            from_agent: string;
            /** @constant */
            blocked: false;
          };
        };
      };
    };
  };
  list: {
    requestBody: {
      content: {
        "application/json": {
          /** @description Required from the operator; an agent may only name itself. */
          agent_id?: string;
          /**
           * @description What the keys begin with.
           * @default
           */
          prefix?: string;
          /** @default 100 */
          limit?: number;
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
            /** @description The `cursor` of the next page; null: this is the last. */
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
          /** @description Names one content, which never changes. */
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
          /** @description An agent's identifier. */
          agent_id?: string;
          /** @description The `latest` of an earlier answer. */
          after?: string;
          /** @default 100 */
          limit?: number;
          types?: (
            | "artifact.committed"
            | "artifact.registered"
            | "artifact.opened"
            | "artifact.fetched"
            | "artifact.deleted"
            | "artifact.expired"
            | "artifact.abandoned"
            | "grant.created"
            | "grant.revoked"
          )[];
          /**
           * @description How long to wait where there is nothing to tell yet.
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
            /** @description `after` of the next request. */
            latest: string;
            /** @description Whether to send the next request at once. */
            more: boolean;
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
           * @description The most artifacts to end, and objects to remove.
           * @default 100
           */
          limit?: number;
          /**
           * @description Also remove what would be counted in `orphans_held`.
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
            /** @description Artifacts that ended: expired, or deleted before. */
            expired: number;
            /** @description Artifacts that ended without ever being committed. */
            abandoned: number;
            /** @description Objects removed that no artifact accounts for. */
            orphaned: number;
            /** @description Events removed from the log, older than the operator keeps them. */
            forgotten_events: number;
            /** @description What is left for the next call; 0: nothing. */
            remaining: number;
            /** @description Objects that no artifact accounts for, kept and not counted in `remaining` because they are more than 5% of the bucket: the database may be older than the bucket. Look at them with `deno task fsck`, then send `remove_many_orphans`. */
            orphans_held: number;
          };
        };
      };
    };
  };
  whoami: {
    responses: {
      /** @description Who it is. */
      200: {
        content: {
          "application/json": {
            /**
             * @description `user`: a signed-in user who is that agent.
             * @enum {string}
             */
            kind: "agent" | "user" | "operator";
            /** @description Null for the operator. */
            agent_id: string | null;
            /** @description Of the agent key that the request was sent with; null where it was none. */
            key_id: string | null;
            /** @description When that key, or the user's token, ends; null: never. */
            expires_at: string | null;
          };
        };
      };
    };
  };
  health: {
    responses: {
      /** @description It does. */
      200: {
        content: {
          "application/json": {
            /** @constant */
            status: "ok";
            /** @description The release of the function. For the operator alone, as what follows. */
            version?: string;
            /**
             * Format: date-time
             * @description The function's clock.
             */
            time?: string;
            /** @description The numbers among its settings, by the names of their variables. */
            settings?: {
              [key: string]: number;
            };
            /**
             * @description Whether the service_role key is the operator's, where the platform gives one.
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
      /** @description The numbers. */
      200: {
        content: {
          "text/plain": string;
        };
      };
    };
  };
}
