// Made by `deno task client:types` of the OpenAPI document.

export interface paths {
  "/peer/register": {
    /** Join the mesh, or change the pubkey or endpoint. */
    post: operations["peerRegister"];
  };
  "/peer/heartbeat": {
    /** Say that the agent is there. */
    post: operations["peerHeartbeat"];
  };
  "/peer/remove": {
    /** Leave the mesh: the peer, its rules and its PSKs are gone. */
    post: operations["peerRemove"];
  };
  "/netmap": {
    /** What an agent sees: peers, active rules and requests. */
    post: operations["netmap"];
  };
  "/acl/put": {
    /** Agree to an access rule; it is active once both of its agents have. */
    post: operations["aclPut"];
  };
  "/acl/revoke": {
    /** End an access rule, or a request for one, for both of its agents. */
    post: operations["aclRevoke"];
  };
  "/wg_config": {
    /** The agent's wg-quick configuration; with `accept: text/plain`, nothing else. */
    post: operations["wgConfig"];
  };
  "/psk/rotate": {
    /** Replace the PSK of a pair; both then call /wg_config. */
    post: operations["pskRotate"];
  };
  "/events": {
    /** What happened to an agent and what it did, oldest first. */
    post: operations["events"];
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
    Peer: {
      agent_id: string;
      pubkey: string;
      endpoint: string | null;
      /** @description Its own tunnel addresses: IPv4, IPv6. */
      addresses: string[];
      /** @description When its last heartbeat came. */
      last_seen: string | null;
      online: boolean;
      /** Format: date-time */
      registered_at: string;
      /** Format: date-time */
      updated_at: string;
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
    Heartbeat: {
      agent_id: string;
      /** Format: date-time */
      last_seen: string;
      /** @constant */
      online: true;
      /** @description Where it differs from what runs, call /wg_config. */
      config_version: number;
      /** @description When the next heartbeat is due. */
      heartbeat_interval_seconds: number;
    };
    Netmap: {
      agent_id: string;
      /** @description Rises whenever the agent's configuration changes. */
      config_version: number;
      peers: components["schemas"]["VisiblePeer"][];
      /** @description The active rules that name the agent. */
      acls: components["schemas"]["Rule"][];
      /** @description The requests that name the agent. */
      acl_requests: components["schemas"]["RuleRequest"][];
    };
    VisiblePeer: {
      agent_id: string;
      pubkey: string;
      endpoint: string | null;
      /** @description Its own tunnel addresses: IPv4, IPv6. */
      addresses: string[];
      /** @description When its last heartbeat came. */
      last_seen: string | null;
      online: boolean;
      /** Format: date-time */
      registered_at: string;
      /** Format: date-time */
      updated_at: string;
      /** @description Whether it is the agent's own. */
      self: boolean;
      /** @description Null before the pair's first PSK, and for oneself. */
      psk_version: number | null;
      /** @description What the peer last reported; null for oneself. */
      config_version_applied: number | null;
    };
    Rule: {
      from_agent: string;
      to_agent: string;
      port: number;
      /** @enum {string} */
      proto: "tcp" | "udp";
    };
    RuleRequest: {
      from_agent: string;
      to_agent: string;
      port: number;
      /** @enum {string} */
      proto: "tcp" | "udp";
      /** @description The agent that has not agreed yet. */
      waiting_for: string;
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
        | "rule.requested"
        | "rule.activated"
        | "rule.revoked"
        | "peer.registered"
        | "peer.updated"
        | "peer.removed"
        | "peer.appeared"
        | "peer.vanished"
        | "psk.rotated";
      from_agent?: string;
      to_agent?: string;
      port?: number;
      /** @enum {string} */
      proto?: "tcp" | "udp";
      /** @description Whom the agent sees from now on, or sees no more. */
      peer?: string;
      /** @description Of the agent's own registration, as is `endpoint`. */
      pubkey?: string;
      endpoint?: string;
      a?: string;
      b?: string;
      psk_version?: number;
      /** @description How many changes of the same thing the event stands for; its type is the last one's. */
      times?: number;
      /**
       * Format: date-time
       * @description When the last of them was, where that is not `at`.
       */
      last_at?: string;
    };
  };
}
export type $defs = Record<string, never>;
export interface operations {
  peerRegister: {
    requestBody: {
      content: {
        "application/json": {
          /** @description Required from the operator; an agent may only name itself. */
          agent_id?: string;
          /** @description WireGuard public key: base64 of 32 bytes. */
          pubkey: string;
          /** @description Null or left out: not reachable from outside, such as behind NAT. */
          endpoint?: string | null;
          /** @description Where the host listens, if that is not the endpoint's port. */
          listen_port?: number;
        };
      };
    };
    responses: {
      /** @description Done. */
      200: {
        content: {
          "application/json": components["schemas"]["Peer"];
        };
      };
    };
  };
  peerHeartbeat: {
    requestBody: {
      content: {
        "application/json": {
          /** @description Required from the operator; an agent may only name itself. */
          agent_id?: string;
          /** @description The version that the agent runs now. */
          config_version?: number;
          /**
           * @description How long to wait for another version than `config_version`.
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
          "application/json": components["schemas"]["Heartbeat"];
        };
      };
    };
  };
  peerRemove: {
    requestBody: {
      content: {
        "application/json": {
          /** @description Required from the operator; an agent may only name itself. */
          agent_id?: string;
        };
      };
    };
    responses: {
      /** @description Done. */
      200: {
        content: {
          "application/json": {
            agent_id: string;
            /** @description False: there was no peer. */
            removed: boolean;
          };
        };
      };
    };
  };
  netmap: {
    requestBody: {
      content: {
        "application/json": {
          /** @description Required from the operator; an agent may only name itself. */
          agent_id?: string;
        };
      };
    };
    responses: {
      /** @description Done. */
      200: {
        content: {
          "application/json": components["schemas"]["Netmap"];
        };
      };
    };
  };
  aclPut: {
    requestBody: {
      content: {
        "application/json": {
          /** @description An agent's identifier. */
          from_agent: string;
          /** @description An agent's identifier. */
          to_agent: string;
          port: number;
          /** @enum {string} */
          proto: "tcp" | "udp";
        };
      };
    };
    responses: {
      /** @description Done. */
      200: {
        content: {
          "application/json": {
            from_agent: string;
            to_agent: string;
            port: number;
            /** @enum {string} */
            proto: "tcp" | "udp";
            /** @description Whether this call made it. */
            created: boolean;
            /** @description Whether both have agreed. */
            active: boolean;
            /** @description The agent that has not agreed yet. */
            waiting_for: string | null;
          };
        };
      };
    };
  };
  aclRevoke: {
    requestBody: {
      content: {
        "application/json": {
          /** @description An agent's identifier. */
          from_agent: string;
          /** @description An agent's identifier. */
          to_agent: string;
          port: number;
          /** @enum {string} */
          proto: "tcp" | "udp";
        };
      };
    };
    responses: {
      /** @description Done. */
      200: {
        content: {
          "application/json": {
            from_agent: string;
            to_agent: string;
            port: number;
            /** @enum {string} */
            proto: "tcp" | "udp";
            revoked: boolean;
          };
        };
      };
    };
  };
  wgConfig: {
    requestBody: {
      content: {
        "application/json": {
          /** @description Required from the operator; an agent may only name itself. */
          agent_id?: string;
          /** @description Where the agent keeps its private key. Default: /etc/wireguard/%i.key. */
          private_key_file?: string;
          /**
           * @description With none, the host itself has to enforce the access rules, and needs no nft. Where it has nft, what keeps the tunnel from carrying its own packets is loaded all the same.
           * @default nftables
           * @enum {string}
           */
          firewall?: "nftables" | "none";
        };
      };
    };
    responses: {
      /** @description Done. */
      200: {
        content: {
          "application/json": {
            agent_id: string;
            /** @description Rises whenever the agent's configuration changes. */
            config_version: number;
            /** @description The text of /etc/wireguard/<interface>.conf. */
            config: string;
          };
          "text/plain": string;
        };
      };
    };
  };
  pskRotate: {
    requestBody: {
      content: {
        "application/json": {
          /** @description An agent's identifier. */
          a: string;
          /** @description An agent's identifier. */
          b: string;
        };
      };
    };
    responses: {
      /** @description Done. */
      200: {
        content: {
          "application/json": {
            a: string;
            b: string;
            psk_version: number;
            /** Format: date-time */
            rotated_at: string;
          };
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
            | "rule.requested"
            | "rule.activated"
            | "rule.revoked"
            | "peer.registered"
            | "peer.updated"
            | "peer.removed"
            | "peer.appeared"
            | "peer.vanished"
            | "psk.rotated"
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
