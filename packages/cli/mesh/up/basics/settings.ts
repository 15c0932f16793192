import { UsageError } from "../../../../command/usage_error.ts";
import type { PortPlace } from "../../dns/place.ts";
import { parsePeerEndpoint } from "../wanted/values.ts";
import type { Firewall } from "../wanted/ruleset.ts";

/** What the options of `mesh up` say. */
export interface Settings {
  readonly interfaceName: string;
  /** The folder of the private key. */
  readonly configFolder: string;
  /** The folder of the state, in memory. */
  readonly runFolder: string;
  readonly firewall: Firewall;
  readonly endpoint: EndpointSetting;
  /** WireGuard's port, if it is not that of the endpoint. */
  readonly listenPort: number | null;
  /** Gets the names of the peers. Null: none; undefined: /etc/hosts, if it is the best way. */
  readonly hostsFile: string | null | undefined;
  /** Where names of peers are answered by DNS. Null: nowhere; undefined: at the usual place. */
  readonly dns: PortPlace | null | undefined;
  /** The longest time that a request waits, in seconds; null: the service's limit. */
  readonly pollSeconds: number | null;
  /** Whether to find paths to peers that no packet reaches directly. */
  readonly seeksPaths: boolean;
  readonly stunServers: readonly string[];
}

/** `public`: like `auto`, but only if the host's own address is a public one. */
export type EndpointSetting =
  | { readonly kind: "none" }
  | { readonly kind: "auto" | "public"; readonly port: number }
  | {
    readonly kind: "given";
    readonly host: string;
    readonly isName: boolean;
    readonly port: number;
  };

const INTERFACE_NAME = /^[A-Za-z0-9_=+.-]{1,15}$/;
const DEFAULT_PORT = 51_820;

export const DEFAULT_FOLDERS = { config: "/etc/wireguard", run: "/run/agentfiles-mesh" } as const;

/** Throws UsageError. */
export function interfaceNameOf(text = "mesh0"): string {
  if (INTERFACE_NAME.test(text) && text !== "." && text !== "..") return text;
  throw new UsageError(`${text} is not the name of an interface.`);
}

/** Throws UsageError. */
export function endpointSettingOf(text: string | undefined): EndpointSetting {
  if (text === undefined) return { kind: "public", port: DEFAULT_PORT };
  if (text === "none") return { kind: "none" };
  const [, port] = /^auto:([1-9][0-9]{0,4})$/.exec(text) ?? [];
  if (port !== undefined && Number(port) <= 65_535) return { kind: "auto", port: Number(port) };
  const endpoint = /^auto/.test(text) ? null : parsePeerEndpoint(text.toLowerCase());
  if (endpoint !== null) return { kind: "given", ...endpoint };
  throw new UsageError(`--endpoint must be <host>:<port>, auto:<port> or none, not ${text}`);
}

/** Throws UsageError. */
export function firewallOf(text = "nftables"): Firewall {
  if (text === "nftables" || text === "none") return text;
  throw new UsageError(`--firewall must be nftables or none, not ${text}`);
}

/** Throws UsageError. `name`: of the option. */
export function numberOf(
  text: string | undefined,
  { name, most }: { readonly name: string; readonly most: number },
): number | null {
  if (text === undefined) return null;
  if (/^[1-9][0-9]{0,4}$/.test(text) && Number(text) <= most) return Number(text);
  throw new UsageError(`${name} must be a number from 1 to ${most}, not ${text}`);
}

/**
 * Throws an Error unless the server must prove its identity (HTTPS), or is this host itself: nobody
 * else can alter what a host answers to itself.
 */
export function requireSafeUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : null;
  const isLoopback = url !== null &&
    /^(?:localhost|127(?:\.[0-9]{1,3}){3}|\[::1\])$/.test(url.hostname);
  if (url !== null && url.username === "" && url.password === "") {
    if (url.protocol === "https:" || (url.protocol === "http:" && isLoopback)) return url;
  }
  throw new Error(
    `the service's URL must begin with https://, or with http:// and a loopback address; it is ${
      text.replace(/[^ -~]/g, "?").slice(0, 200)
    }`,
  );
}
