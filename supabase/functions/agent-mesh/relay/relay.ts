import { SettingsError } from "../../_shared/request/settings/variables.ts";
import { MESH_VARIABLES, type MeshSettings } from "../settings.ts";
import { isTurnUrl } from "./turn_url.ts";

/** The operator's relay settings, not parsed yet. */
type RelayTexts = Pick<
  MeshSettings,
  "turnUrls" | "turnSecret" | "turnCredentialsUrl" | "turnCredentialsToken"
>;

/** What relays packets between agents that cannot reach each other. */
export type Relay =
  /** The operator's own TURN servers, and the secret that they have too. */
  | { readonly kind: "own"; readonly urls: readonly string[]; readonly secret: string }
  /** A service that is asked for credentials of its TURN servers. */
  | { readonly kind: "service"; readonly url: string; readonly token: string };

const MOST_URLS = 8;

/** The relay that is set; null: none. Throws SettingsError for a bad one, a part of one, or two. */
export function readRelay(texts: RelayTexts): Relay | null {
  const own = readPair(texts, "turnUrls", "turnSecret");
  const service = readPair(texts, "turnCredentialsUrl", "turnCredentialsToken");
  if (own !== null && service !== null) {
    throw new SettingsError(
      `${nameOf("turnUrls")} and ${nameOf("turnCredentialsUrl")} cannot both be set.`,
    );
  }
  if (own !== null) {
    const [urls, secret] = own;
    return { kind: "own", urls: parseUrls(urls), secret: parseSecret("turnSecret", secret, 16) };
  }
  if (service === null) return null;
  const [url, token] = service;
  return {
    kind: "service",
    url: parseServiceUrl(url),
    token: parseSecret("turnCredentialsToken", token, 1),
  };
}

/** Two settings that need each other; null: neither is set. Throws SettingsError if only one is. */
function readPair(
  texts: RelayTexts,
  one: keyof RelayTexts,
  other: keyof RelayTexts,
): readonly [one: string, other: string] | null {
  const [first, second] = [texts[one], texts[other]];
  if (first !== null && second !== null) return [first, second];
  if (first === null && second === null) return null;
  const [set, missing] = first === null ? [other, one] : [one, other];
  // The message names the variable that is set first, because unsetting it helps, too.
  throw new SettingsError(`${nameOf(set)} needs ${nameOf(missing)}: set both, or neither.`);
}

function parseUrls(text: string): readonly string[] {
  const urls = text.split(",").map((url) => url.trim());
  if (urls.length <= MOST_URLS && urls.every(isTurnUrl)) return urls;
  throw new SettingsError(
    `${nameOf("turnUrls")} must be up to ${MOST_URLS} URIs in lower case, comma-separated, each ` +
      "such as turn:relay.example.net:3478 or turns:relay.example.net:443?transport=tcp.",
  );
}

function parseServiceUrl(text: string): string {
  const url = URL.parse(text);
  const isSafe = url?.protocol === "https:" ||
    // A service on this machine, for a trial.
    url?.protocol === "http:" && url.hostname === "127.0.0.1";
  // A secret belongs in the token, because URLs end up in logs.
  if (url && isSafe && !url.username && !url.password && !/[?#]/.test(text)) return url.href;
  throw new SettingsError(
    `${nameOf("turnCredentialsUrl")} must be an https URL without user, query or fragment.`,
  );
}

function parseSecret(
  variable: "turnSecret" | "turnCredentialsToken",
  text: string,
  least: number,
): string {
  if (/^[!-~]{1,2048}$/.test(text) && text.length >= least) return text;
  throw new SettingsError(
    `${nameOf(variable)} must be ${least} to 2048 characters of ASCII without spaces.`,
  );
}

function nameOf(setting: keyof RelayTexts): string {
  return MESH_VARIABLES[setting].name;
}
