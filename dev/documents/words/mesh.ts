import type { operations } from "../../../packages/agent-files/contract/mesh.ts";
import {
  config_version,
  enrolment_key,
  instance,
  limit,
  pathsOn,
  token,
  wait_seconds,
} from "./both.ts";
import type { FieldIn, PageWords } from "./words.ts";

/** The words of docs/mesh.md about the fields of requests. */
export const MESH_WORDS: PageWords<FieldIn<operations>> = {
  agent_id: {
    rule:
      "1 to 128 of the characters `A-Z a-z 0-9 . _ : @ -`. The first is a letter or a digit. `to_agent` differs from `from_agent`.",
    valid: ["alpha", "ci:build.7@eu"],
    invalid: ["-alpha", "two words", "a/b"],
  },
  agent_name: "agent_id",
  from_agent: "agent_id",
  to_agent: "agent_id",
  a: "agent_id",
  b: "agent_id",
  pubkey: {
    rule:
      "a WireGuard public key, the 44 characters of base64 that `wg pubkey` prints. Low-order points and encodings of 2^255−19 or more are refused.",
    valid: ["aKZGuFqxzUrxCXcEJMvBbVQZdDAeYcGjcyAjJtuEQ3I="],
    invalid: ["aKZGuFqxzUrxCXcEJMvBbVQZdDAeYcGjcyAjJtuEQ3J=", "key"],
  },
  endpoint: {
    rule:
      "`<host>:<port>`, at most 259 characters, or null. The host is a DNS name, an IPv4 address or an IPv6 address in brackets; the port is 1 to 65535. [Endpoints](#endpoints) lists which addresses are refused.",
    valid: ["vpn.example.com:51820", "203.0.113.7:51820", "[2001:db8::7]:51820"],
    invalid: [
      "vpn.example.com",
      "2001:db8::7:51820",
      "[fe80::1%eth0]:51820",
      "a_b:51820",
      "a.example:0",
    ],
  },
  endpoints: {
    rule:
      "a list of at most 4 endpoints of at most 259 characters. If the request also has `endpoint`, the first of the list must be the same.",
    valid: ['["203.0.113.7:51820", "[2001:db8::7]:51820"]'],
    invalid: ['["a_b:51820"]', '"203.0.113.7:51820"'],
  },
  listen_port: {
    rule: "a whole number from {minimum} to {maximum}.",
    valid: ["443"],
    invalid: ["0", "65536", '"443"'],
  },
  port: "listen_port",
  proto: {
    rule: "{choices}.",
    valid: ["udp"],
    invalid: ["icmp", "TCP"],
  },
  config_version,
  private_key_file: {
    rule:
      "an absolute path of 2 to 201 of the characters `A-Z a-z 0-9 . _ / @ -` and `%i`, by default `/etc/wireguard/%i.key`. No segment is `..`.",
    valid: ["/etc/wireguard/%i.key"],
    invalid: ["key", "/", "/etc/../key", "/etc/%n.key", "/etc/my key"],
  },
  firewall: {
    rule: "{choices}, by default `{default}`.",
    valid: ["none"],
    invalid: ["iptables"],
  },
  format: {
    rule: "{choices}, by default `{default}`.",
    valid: ["json"],
    invalid: ["yaml"],
  },
  after: {
    rule: "the `latest` of an earlier answer.",
    valid: [],
    invalid: ['""', "yesterday"],
  },
  inbox_after: {
    rule: "as in [artifacts](artifacts.md#fields).",
    valid: [],
    invalid: ['""', "yesterday"],
  },
  events_after: "inbox_after",
  enrolment_key,
  enrolment_id: "enrolment_key",
  instance,
  token,
  limit,
  types: {
    rule: "a list of at least {minItems} of {items}.",
    valid: ['["psk.rotated"]'],
    invalid: ["[]", '["grant.created"]'],
  },
  paths: pathsOn(""),
  problem: {
    rule:
      "why the host has no tunnel, an object with `code`, which is `network_taken` (another network of the host has addresses of the mesh), and `network`, an IPv4 network or null. It holds until a heartbeat has a `config_version` and no problem.",
    valid: ['{"code": "network_taken", "network": "172.17.0.0/16"}'],
    invalid: [
      "{}",
      '{"code": "network_taken", "network": "docker0"}',
      '{"code": "broken", "network": null}',
    ],
  },
  refused: {
    rule:
      "the connections that the host refused because no rule allows them, a list of at most 16. Each has `agent_id`, the neighbour that connected; `port`, or null for several; `proto`; and `attempts`, a whole number from 1 to 1000000000. [Refused connections](#refused-connections) says how they are used.",
    valid: ["[]", '[{"agent_id": "alpha", "port": 8080, "proto": "tcp", "attempts": 3}]'],
    invalid: [
      "{}",
      '[{"agent_id": "alpha", "port": 8080, "proto": "icmp", "attempts": 3}]',
      '[{"agent_id": "alpha", "port": 8080, "proto": "tcp", "attempts": 0}]',
    ],
  },
  wait_seconds,
};
