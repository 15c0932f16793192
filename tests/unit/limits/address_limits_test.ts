import assert from "node:assert/strict";
import { ServiceError } from "../../../supabase/functions/_shared/request/errors.ts";
import { AddressLimits } from "../../../supabase/functions/_shared/request/common_paths/address_limits.ts";
import { readPlatformSettings } from "../../../supabase/functions/_shared/request/settings/platform.ts";

function limitsOf(perMinute: number): AddressLimits {
  return new AddressLimits(readPlatformSettings(
    new Map([
      ["SUPABASE_URL", "http://127.0.0.1:1"],
      ["SUPABASE_SECRET_KEYS", '{"default": "sb_secret_own"}'],
      ["RATE_LIMIT_ANONYMOUS_PER_MINUTE", String(perMinute)],
    ]),
  ));
}

/** Whether a request with this x-forwarded-for is let in; null: without the header. */
function isLetIn(limits: AddressLimits, forwardedFor: string | null): boolean {
  const headers = new Headers(forwardedFor === null ? {} : { "x-forwarded-for": forwardedFor });
  try {
    limits.enter(new Request("http://127.0.0.1/", { headers })).leave();
    return true;
  } catch (error) {
    assert.ok(error instanceof ServiceError);
    assert.equal(error.code, "rate_limited");
    return false;
  }
}

/** Senders whose requests are counted together, and one that is counted apart. */
const SENDERS: readonly {
  readonly what: string;
  readonly together: readonly (string | null)[];
  readonly apart: string;
}[] = [
  {
    what: "one address behind whatever a sender claims",
    together: ["192.0.2.7", "198.51.100.1, 192.0.2.7", "a, b, 192.0.2.7", "2001:db8::1,192.0.2.7"],
    apart: "192.0.2.7, 198.51.100.1",
  },
  {
    what: "the addresses of one IPv6 network of 64 bits",
    together: ["2001:db8:1:2::1", "2001:DB8:1:2:ffff:ffff:ffff:ffff", "2001:db8:1:2:0:0:0:0"],
    apart: "2001:db8:1:3::1",
  },
  {
    what: "short forms of an IPv6 network",
    together: ["2001:db8::1", "2001:db8:0:0::2"],
    apart: "2001:db8:0:1::1",
  },
  { what: "the loopback networks", together: ["::1", "::2"], apart: "1::" },
  {
    what: "one IPv4 address as IPv6",
    together: ["::ffff:192.0.2.7", "::FFFF:c000:207"],
    apart: "::ffff:192.0.2.8",
  },
  {
    what: "no address",
    together: [null, "", " ", "unknown", "192.0.2", "192.0.2.7.example", "[::1]", "::1]/a?[", ","],
    apart: "192.0.2.7",
  },
];

for (const { what, together, apart } of SENDERS) {
  Deno.test(`requests of ${what} → count together, and no other's with them`, () => {
    for (const first of together) {
      const limits = limitsOf(1);
      assert.equal(isLetIn(limits, first), true);
      for (const next of together) assert.equal(isLetIn(limits, next), false, `${first} ${next}`);
      assert.equal(isLetIn(limits, apart), true, apart);
    }
  });
}

Deno.test("the operator → is never refused, and uses up nothing; a wrong secret key does", () => {
  const limits = limitsOf(1);
  const enterWith = (headers: Record<string, string>) =>
    limits.enter(new Request("http://127.0.0.1/", { headers }));
  for (const headers of [{ apikey: "sb_secret_own" }, { authorization: "Bearer sb_secret_own" }]) {
    enterWith(headers);
    enterWith(headers);
  }
  enterWith({ apikey: "sb_secret_other" });
  assert.throws(() => enterWith({ apikey: "sb_secret_other" }), { code: "rate_limited" });
  assert.equal(isLetIn(limits, null), false);
});
