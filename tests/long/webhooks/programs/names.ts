/** Names of receivers and issuers, where they lead, and what a request to one of them did. */
import type { Zone } from "./resolver.ts";

/** An address of the internet, as far as the function can tell. */
export const OUTSIDE = "203.0.113.7";
/** Another one, whose certificate has another name. */
export const IMPOSTOR = "203.0.113.8";
const INSIDE = "127.0.0.1";

/** Each name of the zone leads somewhere else. */
export const ZONE: Zone = {
  "public.hooks.example.com": [[OUTSIDE]],
  "first-outside.hooks.example.com": [[OUTSIDE], [INSIDE]],
  "first-inside.hooks.example.com": [[INSIDE], [OUTSIDE]],
  "both.hooks.example.com": [[OUTSIDE, INSIDE]],
  "impostor.hooks.example.com": [[IMPOSTOR]],
  "private.hooks.example.com": [["10.0.0.1"]],
  "link-local.hooks.example.com": [["169.254.169.254"]],
  "loopback6.hooks.example.com": [["::1"]],
  "unique-local.hooks.example.com": [["fd00::1"]],
  "link-local6.hooks.example.com": [["fe80::1"]],
  "mapped.hooks.example.com": [["::ffff:7f00:1"]],
  "nat64.hooks.example.com": [["64:ff9b::7f00:1"]],
  "mixed.hooks.example.com": [[OUTSIDE, "::1"]],
  "nowhere.hooks.example.com": [[]],
};

/** The names in the certificate of OUTSIDE and of the receiver inside. */
export const CERTIFIED = "*.hooks.example.com";

export interface Sent {
  /** The receiver's status, or what is said of it. */
  readonly answer: number | string;
  /** How many requests with the name in their Host header arrived, by receiver. */
  readonly outside: number;
  readonly inside: number;
  readonly impostor: number;
  /** How often the name's IPv4 addresses were asked for. */
  readonly asked: number;
}
