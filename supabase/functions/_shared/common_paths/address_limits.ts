import { readCredential } from "../request/caller.ts";
import type { PlatformSettings } from "../settings/platform.ts";
import { RateLimits, type Slot, UNLIMITED } from "../request/rate_limits.ts";

/** What addresses are made of. Who writes them has checked them. */
const IPV4 = /^\d{1,3}(?:\.\d{1,3}){3}$/;
const IPV6 = /^[0-9a-f:.]+$/i;

/**
 * Counts requests for what needs no credential, by the address that they come from. Apart from the
 * limits of callers, so that no number of addresses has a caller forgotten.
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

  /** Answers a request that is let in. Throws rate_limited, and what `answer` throws. */
  async within(request: Request, answer: () => Promise<Response>): Promise<Response> {
    const slot = this.enter(request);
    try {
      return await answer();
    } finally {
      slot.leave();
    }
  }
}

/** Whether the headers are the operator's. Refuses nobody: what it is asked for is anybody's. */
export function isOperator(headers: Headers, settings: PlatformSettings): boolean {
  try {
    return readCredential(headers, settings).kind === "operator";
  } catch {
    return false;
  }
}

/**
 * The address that the gateway before the function has seen: the last one of `x-forwarded-for`.
 * Those before it are the sender's word. Of IPv6 it is the network of 64 bits, which one customer
 * has. All requests without an address count together, so no header makes a limit of its own.
 */
function addressOf(headers: Headers): string {
  const last = headers.get("x-forwarded-for")?.split(",").at(-1)?.trim() ?? "";
  if (IPV4.test(last)) return last;
  if (!IPV6.test(last)) return "unknown";
  // A URL writes every IPv6 address in one way.
  const address = URL.parse(`http://[${last}]/`)?.hostname.slice(1, -1);
  if (address === undefined) return "unknown";
  const [head = "", tail] = address.split("::");
  const before = groupsOf(head);
  const after = groupsOf(tail ?? "");
  const zeros = tail === undefined ? 0 : 8 - before.length - after.length;
  const groups = [...before, ...Array(zeros).fill("0"), ...after];
  // IPv4 in IPv6, as some servers write it: its 64 bits would be everybody's.
  const isMapped = groups.slice(0, 6).join(":") === "0:0:0:0:0:ffff";
  return (isMapped ? groups : groups.slice(0, 4)).join(":");
}

function groupsOf(text: string): string[] {
  return text === "" ? [] : text.split(":");
}
