import assert from "node:assert/strict";
import fc from "fast-check";
import {
  formatEndpoint,
  parseEndpoint,
} from "../../../supabase/functions/_shared/operations/addresses/endpoint.ts";
import { meshNetworks } from "./inputs/states.ts";

Deno.test("parseEndpoint() → its canonical text", () => {
  const canonical = {
    "203.0.113.7:51820": "203.0.113.7:51820",
    "10.0.0.1:1": "10.0.0.1:1",
    "192.168.1.255:65535": "192.168.1.255:65535",
    "[2001:DB8:0:0:0:0:0:1]:51820": "[2001:db8::1]:51820",
    "[2001:db8::0:1]:51820": "[2001:db8::1]:51820",
    "[::ffff:203.0.113.7]:51820": "203.0.113.7:51820",
    "[::ffff:cb00:7107]:51820": "203.0.113.7:51820",
    "[fd00::1]:51820": "[fd00::1]:51820",
    "[::203.0.113.7]:51820": "[::cb00:7107]:51820",
    "[64:ff9b::203.0.113.7]:51820": "[64:ff9b::cb00:7107]:51820",
    "[64:ff9b:1::10.0.0.1]:51820": "[64:ff9b:1::a00:1]:51820",
    "localhost.example:51820": "localhost.example:51820",
    "mylocalhost:51820": "mylocalhost:51820",
    "vpn.example.com:51820": "vpn.example.com:51820",
    "VPN.Example.COM:51820": "vpn.example.com:51820",
    "gateway:51820": "gateway:51820",
    "1.2.3.4.example:51820": "1.2.3.4.example:51820",
    "xn--bcher-kva.example:51820": "xn--bcher-kva.example:51820",
    "3com.x1:51820": "3com.x1:51820",
  };
  for (const [text, expected] of Object.entries(canonical)) assert.equal(reformat(text), expected);
});

Deno.test("parseEndpoint() of a text that is not <host>:<port> → refused", () => {
  const port = /port from 1 to 65535/;
  for (const text of ["", "a", ":51820", "a:", "a:0", "a:65536", "a:00051", "a:+1", "a:1e3"]) {
    assert.match(reformat(text), port, text);
  }
  for (const text of ["a:51820\n", "a:51820 ", "::1:51820", "2001:db8::1:51820", "[::2:51820"]) {
    assert.match(reformat(text), port, text);
  }
});

Deno.test("parseEndpoint() of a host that is neither a name nor a strict address → refused", () => {
  const numbers = ["127.1", "1", "0x7f.1", "0x7f.0x1", "a.0x7f", "a.0X", "3232235521", "1.2.3"];
  const octets = ["01.2.3.4", "1.2.3.256", "1.2.3.4.5", "1.2.3.4."];
  const names = [
    "a..b",
    ".a",
    "a.",
    "-a.b",
    "a-.b",
    "a_b.c",
    "bücher.example",
    "\u212Aelvin.example",
    "a.\u212A",
    "\u017Ftrasse.example",
    "\u0130.example",
    "a b",
    "a;id",
    "a$b",
  ];
  const lengths = ["a".repeat(64), `${"a.".repeat(126)}ab`];
  for (const host of [...numbers, ...octets, ...names, ...lengths]) {
    assert.match(reformat(`${host}:51820`), /DNS name or a dotted-quad/, host);
  }
  for (
    const host of ["", "::1%eth0", "fe80::1%1", "1::2::3", "12345::", "1:2:3:4:5:6:7:8:9", "a"]
  ) {
    assert.match(reformat(`[${host}]:51820`), /IPv6 address/, host);
  }
  for (const host of ["203.0.113.7", "::0x7f.0.0.1", "::1.2.3", "2001:db8::1/64", "@::2"]) {
    assert.match(reformat(`[${host}]:51820`), /IPv6 address/, host);
  }
});

Deno.test("parseEndpoint() of an address that no other host could reach → refused", () => {
  const obstacles = {
    "inside the mesh": ["10.213.0.1", "10.213.255.255", "[fd12:3456:789a:1::1]"],
    "unspecified": ["0.0.0.0", "0.1.2.3", "[::]"],
    "loopback": ["127.0.0.1", "127.255.0.1", "[::1]", "[0:0:0:0:0:0:0:1]"],
    "link-local": ["169.254.169.254", "[fe80::1]", "[febf::1]"],
    "multicast": ["224.0.0.1", "239.255.255.250", "[ff02::1]"],
    "broadcast": ["255.255.255.255"],
    "reserved": ["240.0.0.0", "250.1.2.3", "255.255.255.254"],
    "site-local": ["[fec0::1]", "[feff:ffff::1]"],
  };
  for (const [obstacle, hosts] of Object.entries(obstacles)) {
    for (const host of hosts) {
      assert.match(reformat(`${host}:51820`), new RegExp(`reachable.* ${obstacle}`), host);
      if (host.startsWith("[")) continue;
      for (const prefix of ["::ffff:", "::", "64:ff9b::"]) {
        const embedding = `[${prefix}${host}]:51820`;
        assert.match(reformat(embedding), new RegExp(`reachable.* ${obstacle}`), embedding);
      }
    }
  }
});

Deno.test("parseEndpoint() of a private address behind a translator → refused", () => {
  for (const host of ["10.0.0.1", "100.64.0.1", "172.31.255.255", "192.168.1.1"]) {
    assert.match(reformat(`[64:ff9b::${host}]:51820`), /reachable.* private/, host);
  }
});

Deno.test("parseEndpoint() of localhost and of names under it → refused", () => {
  for (const host of ["localhost", "LocalHost", "db.localhost", "a.b.LOCALHOST"]) {
    assert.match(reformat(`${host}:51820`), /reachable.* localhost/, host);
  }
});

Deno.test("parseEndpoint() beside the mesh's networks → accepted", () => {
  for (const host of ["10.212.255.255", "10.214.0.0", "[fd12:3456:789a:2::1]"]) {
    assert.equal(reformat(`${host}:51820`), `${host}:51820`);
  }
});

Deno.test("parseEndpoint() of any text → a text that parses to itself, or a sentence", () => {
  const host = fc.oneof(
    fc.ipV4(),
    fc.ipV4Extended(),
    fc.ipV6().map((address) => `[${address}]`),
    fc.domain(),
    fc.string({ unit: "binary" }),
    fc.stringMatching(/^[0-9a-fx:.\[\]%-]{0,40}$/),
  );
  const endpoint = fc.tuple(host, fc.oneof(fc.nat(70_000).map(String), fc.string()));
  fc.assert(
    fc.property(endpoint, ([host, port]) => {
      const parsed = parseEndpoint(`${host}:${port}`, meshNetworks);
      if (!parsed.ok) return assert.match(parsed.refusal, /^Must .+\.$/);
      const text = formatEndpoint(parsed.value);
      assert.match(text, /^([a-z0-9.-]+|\[[0-9a-f:]+\]):[0-9]{1,5}$/);
      assert.deepEqual(parseEndpoint(text, meshNetworks), parsed);
    }),
    { numRuns: 2_000 },
  );
});

function reformat(text: string): string {
  const parsed = parseEndpoint(text, meshNetworks);
  return parsed.ok ? formatEndpoint(parsed.value) : parsed.refusal;
}
