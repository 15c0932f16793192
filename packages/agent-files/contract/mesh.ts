// Made by `deno task client:types` of the OpenAPI document.

export interface paths {
  "/peer/register": {
    /** Join the mesh, or change the public key or the endpoints. */
    post: operations["peerRegister"];
  };
  "/peer/heartbeat": {
    /** Report that the agent is online. */
    post: operations["peerHeartbeat"];
  };
  "/peer/remove": {
    /** Leave the mesh: the peer, its rules and its PSKs are deleted. */
    post: operations["peerRemove"];
  };
  "/netmap": {
    /** Show what an agent sees of the mesh: peers, active rules and requests. */
    post: operations["netmap"];
  };
  "/acl/put": {
    /** Agree to an access rule. It is active once both of its agents have agreed. */
    post: operations["aclPut"];
  };
  "/acl/revoke": {
    /** End an access rule, or a request for one, for both of its agents. */
    post: operations["aclRevoke"];
  };
  "/wg_config": {
    /** Get the agent's configuration: for wg-quick, or as JSON. */
    post: operations["wgConfig"];
  };
  "/psk/rotate": {
    /** Replace the PSK of a pair of agents. Both must then call /wg_config. */
    post: operations["pskRotate"];
  };
  "/relay": {
    /** Get credentials of a TURN relay, for hosts that have no direct path. */
    post: operations["relay"];
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
    Peer: {
      /** @description The agent that this peer belongs to. */
      agent_id: string;
      /** @description The peer's name in the mesh: a DNS label that no other peer has. */
      name: string;
      /** @description The agent's WireGuard public key. */
      pubkey: string;
      /** @description Where the agent listens, as `<host>:<port>`; null: other hosts cannot reach it. */
      endpoint: string | null;
      /** @description Everywhere the agent listens, in the order in which to try them. The first is `endpoint`. */
      endpoints: string[];
      /** @description The peer's tunnel addresses: one IPv4, one IPv6. */
      addresses: string[];
      /** @description When its last heartbeat arrived; null: it has sent none. */
      last_seen: string | null;
      /** @description Whether its last heartbeat is recent enough. */
      online: boolean;
      /**
       * Format: date-time
       * @description When the agent joined the mesh.
       */
      registered_at: string;
      /**
       * Format: date-time
       * @description When its registration last changed.
       */
      updated_at: string;
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
    Heartbeat: {
      /** @description The agent that the answer is about. */
      agent_id: string;
      /**
       * Format: date-time
       * @description When this heartbeat arrived.
       */
      last_seen: string;
      /**
       * @description The agent now counts as online.
       * @constant
       */
      online: true;
      /** @description If the agent runs another version, call /wg_config. */
      config_version: number;
      /** @description Send the next heartbeat after this many seconds. */
      heartbeat_interval_seconds: number;
    };
    Netmap: {
      /** @description The agent that the answer is about. */
      agent_id: string;
      /** @description A counter that rises whenever the agent's configuration changes. */
      config_version: number;
      /** @description The agent's own peer, and those that share an active rule with it. */
      peers: components["schemas"]["VisiblePeer"][];
      /** @description The active rules that name the agent. */
      acls: components["schemas"]["Rule"][];
      /** @description The requests that name the agent. */
      acl_requests: components["schemas"]["RuleRequest"][];
    };
    VisiblePeer: {
      /** @description The agent that this peer belongs to. */
      agent_id: string;
      /** @description The peer's name in the mesh: a DNS label that no other peer has. */
      name: string;
      /** @description The agent's WireGuard public key. */
      pubkey: string;
      /** @description Where the agent listens, as `<host>:<port>`; null: other hosts cannot reach it. */
      endpoint: string | null;
      /** @description Everywhere the agent listens, in the order in which to try them. The first is `endpoint`. */
      endpoints: string[];
      /** @description The peer's tunnel addresses: one IPv4, one IPv6. */
      addresses: string[];
      /** @description When its last heartbeat arrived; null: it has sent none. */
      last_seen: string | null;
      /** @description Whether its last heartbeat is recent enough. */
      online: boolean;
      /**
       * Format: date-time
       * @description When the agent joined the mesh.
       */
      registered_at: string;
      /**
       * Format: date-time
       * @description When its registration last changed.
       */
      updated_at: string;
      /** @description Whether this is the agent's own peer. */
      self: boolean;
      /** @description The version of the PSK that the two share; null before their first PSK, and in the agent's own entry. */
      psk_version: number | null;
      /** @description The `config_version` that the peer last reported; null if it has reported none, and in the agent's own entry. */
      config_version_applied: number | null;
      /** @description Whether the tunnel between the two works; null in the agent's own entry. */
      path: components["schemas"]["Path"] | null;
      /** @description Why the peer's host has no tunnel, as it last reported; null: it reported no problem. Missing with an older database. */
      problem?: {
        /**
         * @description `network_taken`: another network of the host has addresses of the mesh.
         * @enum {string}
         */
        code: "network_taken";
        /** @description The network of the host, which is no secret: neighbours see it. Null: not told. */
        network: string | null;
      } | null;
    };
    Path: {
      /** @description What the agent last reported of the path; null: nothing, or not recently. */
      reported_by_self: components["schemas"]["PathReport"] | null;
      /** @description What the peer last reported of it. `endpoint` is where it sees the agent. */
      reported_by_peer: components["schemas"]["PathReport"] | null;
    };
    PathReport: {
      /** @description Whether the path worked: it has a way, and the last handshake was less than 180 seconds old. */
      works: boolean;
      /**
       * @description How packets travel, as this side reports it.
       * @enum {string}
       */
      via: "direct" | "relay" | "none";
      /**
       * Format: date-time
       * @description When the path began to work this way, or stopped working, according to reports.
       */
      since: string;
      /** @description How old the last handshake was when the side reported it, within 15 seconds; null: there was none. */
      handshake_age_seconds: number | null;
      /** @description Where the side sees the other one: the source of its packets; null: unknown. */
      endpoint: string | null;
      /**
       * Format: date-time
       * @description When the side reported this.
       */
      reported_at: string;
    };
    Rule: {
      /** @description The agent that may connect. */
      from_agent: string;
      /** @description The agent whose port may be reached. */
      to_agent: string;
      /** @description The port that may be reached. */
      port: number;
      /**
       * @description The protocol of the port.
       * @enum {string}
       */
      proto: "tcp" | "udp";
    };
    RuleRequest: {
      /** @description The agent that may connect. */
      from_agent: string;
      /** @description The agent whose port may be reached. */
      to_agent: string;
      /** @description The port that may be reached. */
      port: number;
      /**
       * @description The protocol of the port.
       * @enum {string}
       */
      proto: "tcp" | "udp";
      /** @description The agent that has not agreed yet. */
      waiting_for: string;
    };
    WgQuickConfiguration: {
      /** @description The agent that the answer is about. */
      agent_id: string;
      /** @description A counter that rises whenever the agent's configuration changes. */
      config_version: number;
      /** @description The content of /etc/wireguard/<interface>.conf. */
      config: string;
    };
    MeshConfiguration: {
      /** @description The agent that the answer is about. */
      agent_id: string;
      /** @description A counter that rises whenever the agent's configuration changes. */
      config_version: number;
      /** @description The agent's own end of the tunnels. */
      interface: {
        /** @description The agent's tunnel addresses, each with the prefix length of the mesh: one IPv4, one IPv6. */
        addresses: string[];
        /** @description The size of the largest packet in the tunnel, in bytes. */
        mtu: number;
        /** @description The UDP port to listen on; null: any. */
        listen_port: number | null;
      };
      /** @description The peers that share an active rule with the agent. */
      peers: {
        /** @description The agent of the peer. */
        agent_id: string;
        /** @description The peer's name in the mesh: a DNS label that no other peer has. */
        name: string;
        /** @description The peer's WireGuard public key. */
        public_key: string;
        /** @description The PSK of the pair: a secret. */
        preshared_key: string;
        /** @description The peer's tunnel addresses: one IPv4, one IPv6. */
        allowed_ips: string[];
        /** @description Everywhere the peer listens, in the order in which to try them. Names are for the agent's host to look up. */
        endpoints: string[];
        /** @description Where other peers last saw the peer; null if none reported it. A hint. */
        observed_endpoint: string | null;
        /** @description How often to send the peer a keepalive, in seconds. */
        persistent_keepalive: number;
      }[];
      /** @description The active rules that name the agent. It must enforce those that name it as `to_agent`. Those that name it as `from_agent` say what it may reach, and do not raise its `config_version`: wait for events, too. */
      rules: components["schemas"]["Rule"][];
      /** @description Whether the operator has set a relay. */
      relay: boolean;
      /** @description Whether the operator wants heartbeats to report `refused` connections. */
      report_refused?: boolean;
    };
    IceServer: {
      /** @description The URIs of a TURN server (RFC 7065). */
      urls: string[];
      /** @description The username for the server. */
      username: string;
      /** @description The password that belongs to the username. */
      credential: string;
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
        | "rule.requested"
        | "rule.activated"
        | "rule.revoked"
        | "peer.registered"
        | "peer.updated"
        | "peer.removed"
        | "peer.appeared"
        | "peer.vanished"
        | "psk.rotated";
      /** @description The agent that may connect. */
      from_agent?: string;
      /** @description The agent whose port may be reached. */
      to_agent?: string;
      /** @description The port that may be reached. */
      port?: number;
      /**
       * @description The protocol of the port.
       * @enum {string}
       */
      proto?: "tcp" | "udp";
      /** @description The agent that became visible to the agent, or invisible. */
      peer?: string;
      /** @description The WireGuard public key that the agent registered. */
      pubkey?: string;
      /** @description The endpoint that the agent registered, as `<host>:<port>`. */
      endpoint?: string;
      /** @description One agent of the pair. */
      a?: string;
      /** @description The other agent of the pair. */
      b?: string;
      /** @description The version of the pair's PSK, which rises with each new PSK. */
      psk_version?: number;
      /** @description How many repeated changes this event stands for. Its type is that of the last one. */
      times?: number;
      /**
       * Format: date-time
       * @description When the last of these changes was, if later than `at`.
       */
      last_at?: string;
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
  peerRegister: {
    requestBody: {
      content: {
        "application/json": {
          /** @description Required from the operator. An agent may only name itself. */
          agent_id?: string;
          /** @description The agent's WireGuard public key: 32 bytes in base64. */
          pubkey: string;
          /** @description Where other hosts reach the agent. Null or left out: they cannot, for example because it is behind NAT. */
          endpoint?: string | null;
          /** @description Everywhere other hosts reach the agent, in the order in which to try them: IPv4 and IPv6, or an address in its own network. The first is `endpoint`, which may be left out. */
          endpoints?: string[];
          /** @description The port that WireGuard listens on, if it is not the endpoint's. */
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
          /** @description Required from the operator. An agent may only name itself. */
          agent_id?: string;
          /** @description The `config_version` of the configuration that the agent runs now. */
          config_version?: number;
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
          /** @description Why the host has no tunnel. Its neighbours see it until a heartbeat has a `config_version` and no problem. */
          problem?: {
            /**
             * @description `network_taken`: another network of the host has addresses of the mesh.
             * @enum {string}
             */
            code: "network_taken";
            /** @description The network of the host, which is no secret: neighbours see it. Null: not told. */
            network: string | null;
          };
          /** @description Connections that the host refused because no rule allows them, for the operator. Only for a host whose configuration has `report_refused`. */
          refused?: {
            /** @description The neighbour that connected. */
            agent_id: string;
            /** @description Null: several ports. */
            port: number | null;
            /**
             * @description The protocol of the port.
             * @enum {string}
             */
            proto: "tcp" | "udp";
            /** @description How many, since the last report. */
            attempts: number;
          }[];
          /**
           * @description How many seconds to wait for a `config_version` other than the one sent.
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
            /** @description False if the agent had no peer. */
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
          /** @description Required from the operator. An agent may only name itself. */
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
          /** @description The agent that may connect. */
          from_agent: string;
          /** @description The agent whose port may be reached. */
          to_agent: string;
          /** @description The port that may be reached. */
          port: number;
          /**
           * @description The protocol of the port.
           * @enum {string}
           */
          proto: "tcp" | "udp";
        };
      };
    };
    responses: {
      /** @description Done. */
      200: {
        content: {
          "application/json": {
            /** @description The agent that may connect. */
            from_agent: string;
            /** @description The agent whose port may be reached. */
            to_agent: string;
            /** @description The port that may be reached. */
            port: number;
            /**
             * @description The protocol of the port.
             * @enum {string}
             */
            proto: "tcp" | "udp";
            /** @description Whether this call created the rule or request. */
            created: boolean;
            /** @description Whether both agents have agreed. */
            active: boolean;
            /** @description The agent that has not agreed yet; null: both have. */
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
          /** @description The agent that may connect. */
          from_agent: string;
          /** @description The agent whose port may be reached. */
          to_agent: string;
          /** @description The port that may be reached. */
          port: number;
          /**
           * @description The protocol of the port.
           * @enum {string}
           */
          proto: "tcp" | "udp";
        };
      };
    };
    responses: {
      /** @description Done. */
      200: {
        content: {
          "application/json": {
            /** @description The agent that may connect. */
            from_agent: string;
            /** @description The agent whose port may be reached. */
            to_agent: string;
            /** @description The port that may be reached. */
            port: number;
            /**
             * @description The protocol of the port.
             * @enum {string}
             */
            proto: "tcp" | "udp";
            /** @description False if there was no such rule or request. */
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
          /** @description Required from the operator. An agent may only name itself. */
          agent_id?: string;
          /** @description The file with the agent's private key on its host. `%i` stands for the interface's name. Default: /etc/wireguard/%i.key. */
          private_key_file?: string;
          /**
           * @description With `none`, the host itself must enforce the access rules, and nft is optional. If nft is there, it still keeps the tunnel from carrying its own packets.
           * @default nftables
           * @enum {string}
           */
          firewall?: "nftables" | "none";
          /**
           * @description With `json`, the answer has the configuration as fields, for a program that is a peer itself. `private_key_file`, `firewall` and `accept` then change nothing.
           * @default wg-quick
           * @enum {string}
           */
          format?: "wg-quick" | "json";
        };
      };
    };
    responses: {
      /** @description Done. */
      200: {
        content: {
          "application/json":
            | components["schemas"]["WgQuickConfiguration"]
            | components["schemas"]["MeshConfiguration"];
          "text/plain": string;
        };
      };
    };
  };
  pskRotate: {
    requestBody: {
      content: {
        "application/json": {
          /** @description One agent of the pair. */
          a: string;
          /** @description The other agent of the pair. */
          b: string;
        };
      };
    };
    responses: {
      /** @description Done. */
      200: {
        content: {
          "application/json": {
            /** @description One agent of the pair. */
            a: string;
            /** @description The other agent of the pair. */
            b: string;
            /** @description The version of the pair's PSK, which rises with each new PSK. */
            psk_version: number;
            /**
             * Format: date-time
             * @description When the PSK was replaced.
             */
            rotated_at: string;
          };
        };
      };
    };
  };
  relay: {
    requestBody: {
      content: {
        "application/json": {
          /** @description An agent may only name itself. The operator may name an agent, or try the relay without. */
          agent_id?: string;
        };
      };
    };
    responses: {
      /** @description Done. */
      200: {
        content: {
          "application/json": {
            /** @description TURN servers with credentials, as WebRTC's RTCIceServer. */
            ice_servers: components["schemas"]["IceServer"][];
            /**
             * Format: date-time
             * @description When the credentials end: after an hour at most.
             */
            expires_at: string;
          };
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
