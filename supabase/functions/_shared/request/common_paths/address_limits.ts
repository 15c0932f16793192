import { readCredential } from "../../identity/callers/caller.ts";
import type { PlatformSettings } from "../settings/platform.ts";
import { RateLimits, type Slot, UNLIMITED } from "../limits/rate_limits.ts";

/** The characters of addresses. The gateway that writes the header has already checked them. */
const IPV4 = /^\d{1,3}(?:\.\d{1,3}){3}$/;
const IPV6 = /^[0-9a-f:.]+$/i;

/**
 * Limits requests that need no credential, by the address that they come from. Separate from the
 * limits of callers, so that many addresses cannot cause a caller to be forgotten.
 */
export class AddressLimits {
  readonly #limits: RateLimits;
  readonly #settings: PlatformSettings;

  constructor(settings: PlatformSettings) {
    this.#settings = settings;
    this.#limits = new RateLimits({
      ...settings,
      rateLimitRequestsPerMinute: settings.rateLimitAnonymousPerMinute,
    });
  }

  /** Lets a request in. Throws rate_limited; never for the operator. */
  enter({ headers }: Request): Slot {
    return isOperator(headers, this.#settings)
      ? UNLIMITED
      : this.#limits.enterAs(addressOf(headers));
  }

  /** Answers a request within the limit. Throws rate_limited, and what `answer` throws. */
  async within(request: Request, answer: () => Promise<Response>): Promise<Response> {
    const slot = this.enter(request);
    try {
      return await answer();
    } finally {
      slot.leave();
    }
  }
}

/** Whether the headers are the operator's. Never throws: the paths that ask are open to all. */
export function isOperator(headers: Headers, settings: PlatformSettings): boolean {
  try {
    return readCredential(headers, settings).kind === "operator";
  } catch {
    return false;
  }
}

/**
 * The address that the gateway in front of the function has seen: the last one of
 * `x-forwarded-for`. The sender can invent those before it. For IPv6, it is the /64 network, which
 * belongs to one customer. All requests without a valid address share one limit, so that no header
 * can create a new one.
 */
function addressOf(headers: Headers): string {
  const last = headers.get("x-forwarded-for")?.split(",").at(-1)?.trim() ?? "";
  if (IPV4.test(last)) return last;
  if (!IPV6.test(last)) return "unknown";
  // URL parsing gives every IPv6 address its one canonical spelling.
  const address = URL.parse(`http://[${last}]/`)?.hostname.slice(1, -1);
  if (address === undefined) return "unknown";
  const [head = "", tail] = address.split("::");
  const before = groupsOf(head);
  const after = groupsOf(tail ?? "");
  const zeros = tail === undefined ? 0 : 8 - before.length - after.length;
  const groups = [...before, ...Array(zeros).fill("0"), ...after];
  // Some servers write IPv4 addresses as IPv6. They share their first 64 bits, so keep them whole.
  const isMapped = groups.slice(0, 6).join(":") === "0:0:0:0:0:ffff";
  return (isMapped ? groups : groups.slice(0, 4)).join(":");
}

function groupsOf(text: string): string[] {
  return text === "" ? [] : text.split(":");
}
