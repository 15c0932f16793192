import assert from "node:assert/strict";
import { formatEndpoint, kindOf, parseEndpoint } from "../../paths/places/address_kinds.ts";

const KINDS = {
  public: ["198.51.100.7", "100.63.0.1", "172.32.0.1", "2001:db8::7", "3fff::1"],
  private: ["10.1.2.3", "172.16.0.1", "172.31.0.1", "192.168.0.9", "100.64.0.1", "fd00::1"],
  none: [
    "0.0.0.0",
    "127.0.0.1",
    "169.254.1.1",
    "224.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::ffff:198.51.100.7",
    "64:ff9b::c633:6407",
    "fe80::1",
    "fe80::1%eth0",
    "ff02::1",
    "127.1",
    "name.example",
  ],
} as const;

for (const [kind, addresses] of Object.entries(KINDS)) {
  for (const address of addresses) {
    Deno.test(`kindOf(${address}) → ${kind}`, () => assert.equal(kindOf(address), kind));
  }
}

for (
  const [text, expected] of [
    ["198.51.100.7:51820", { host: "198.51.100.7", port: 51820 }],
    ["[2001:db8::7]:1", { host: "2001:db8::7", port: 1 }],
    ["builder.example:65535", { host: "builder.example", port: 65535 }],
    ["2001:db8::7:1", null],
    ["[198.51.100.7]:1", null],
    ["[2001:db8::7%eth0]:1", null],
    ["198.51.100.7:0", null],
    ["198.51.100.7:65536", null],
    ["198.51.100.7:051820", null],
    ["198.51.100.7:51820\n", null],
    ["198.51.100.7", null],
    ["", null],
  ] as const
) {
  Deno.test(`parseEndpoint(${JSON.stringify(text)}) → ${JSON.stringify(expected)}`, () => {
    assert.deepEqual(parseEndpoint(text), expected);
    if (expected !== null) {
      assert.equal(formatEndpoint({ address: expected.host, port: expected.port }), text);
    }
  });
}
