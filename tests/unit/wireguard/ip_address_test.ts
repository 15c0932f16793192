import assert from "node:assert/strict";
import { isIPv4, isIPv6 } from "node:net";
import fc from "fast-check";
import {
  isWithin,
  parseIpv4,
  parseIpv6,
  parseNetwork,
  withoutIpv4Mapping,
} from "../../../supabase/functions/_shared/operations/addresses/ip_address.ts";

const addressLike = fc.oneof(
  fc.ipV4(),
  fc.ipV6(),
  fc.stringMatching(/^[0-9a-f:.]{0,24}$/),
  fc.tuple(fc.ipV6(), fc.constantFrom("%eth0", "/64", " ", ":", "]", "@")).map((parts) =>
    parts.join("")
  ),
);

Deno.test("parseIpv4() and parseIpv6() of any text → accepted if node:net takes it, except with a zone", () => {
  fc.assert(
    fc.property(addressLike, (text) => {
      assert.equal(parseIpv4(text) !== null, isIPv4(text));
      assert.equal(parseIpv6(text) !== null, isIPv6(text) && !text.includes("%"));
    }),
    { numRuns: 5_000 },
  );
});

Deno.test("parseIpv6() of any spelling → one text, which parses to the same bytes", () => {
  fc.assert(fc.property(fc.ipV6(), (text) => {
    const address = parseIpv6(text);
    assert.ok(address);
    assert.match(address.text, /^[0-9a-f:]+$/);
    assert.deepEqual(parseIpv6(address.text), address);
    assert.deepEqual(parseIpv6(text.toUpperCase()), address);
    assert.equal(address.bytes.length, 16);
  }));
  assert.equal(parseIpv6("2001:DB8:0:0:1:0:0:1")?.text, "2001:db8::1:0:0:1");
});

Deno.test("isWithin() compares the bits of the prefix and no others", () => {
  const bytes = fc.uint8Array({ minLength: 4, maxLength: 4 });
  fc.assert(fc.property(bytes, bytes, fc.nat(32), (one, other, prefixLength) => {
    const network = parseNetwork(`${one.join(".")}/${prefixLength}`);
    const address = parseIpv4(other.join("."));
    assert.ok(network && address);
    const [a, b] = [one, other].map((bytes) => new DataView(bytes.buffer).getUint32(0));
    const shift = 2 ** (32 - prefixLength);
    assert.equal(
      isWithin(address, network),
      Math.floor((a ?? 0) / shift) === Math.floor((b ?? 0) / shift),
    );
  }));
});

Deno.test("isWithin() of an address of the other family → false", () => {
  const network = parseNetwork("0.0.0.0/0");
  const address = parseIpv6("::1");
  assert.ok(network && address);
  assert.equal(isWithin(address, network), false);
});

Deno.test("parseNetwork() of a text that is not a network → null", () => {
  for (const text of ["10.0.0.0", "10.0.0.0/33", "10.0.0.0/08", "fd00::/129", "/8", "a/8"]) {
    assert.equal(parseNetwork(text), null, text);
  }
});

Deno.test("withoutIpv4Mapping() of ::ffff:0:0/96 → IPv4; of its neighbours → themselves", () => {
  const without = (text: string) => {
    const address = parseIpv6(text);
    assert.ok(address);
    return withoutIpv4Mapping(address).text;
  };
  assert.equal(without("::ffff:10.0.0.1"), "10.0.0.1");
  assert.equal(without("::fffe:10.0.0.1"), "::fffe:a00:1");
  assert.equal(without("::1:ffff:10.0.0.1"), "::1:ffff:a00:1");
  assert.equal(without("64:ff9b::10.0.0.1"), "64:ff9b::a00:1");
});
