/** How mesh-agent parses addresses and networks, with every awk that a host may have. */
import assert from "node:assert/strict";
import fc from "fast-check";
import { parseIpv6 } from "../../../supabase/functions/_shared/operations/addresses/ip_address.ts";
import { isLeftOutWithout } from "../../left_out.ts";
import { readText } from "../../unit/wireguard/vectors.ts";
import { type Awk, checkAll, type Checked } from "./check.ts";

const AWKS = await Promise.all(
  ([["mawk", "-W", "version"], ["gawk", "--version"], ["busybox", "--help"]] as const).map(
    async ([awk, ...args]) => ({
      awk,
      ignore: await isLeftOutWithout(awk, `Addresses with ${awk} are`, { args }),
    }),
  ),
);

const SERVED = readText("golden/every_kind_of_peer.conf");
const OWN_IPV4 = "10.213.0.1/16";
const OWN_IPV6 = "fd12:3456:789a:1::1/64";
const FIRST_PEER = "AllowedIPs = 10.213.0.2/32, fd12:3456:789a:1::2/128";

testWithEachAwk(
  "a mesh of /8 to /29 → its last address is a peer's, the next one is refused",
  async (awk) => {
    const lengths = Array.from({ length: 29 - 8 + 1 }, (_, index) => index + 8);
    const withPeerAt = (length: number, address: number) =>
      served("Address = 10.213.0.1/16", `Address = 10.213.0.1/${length}`)
        .replaceAll("10.213.0.2", quad(address));
    const last = (length: number) => (number("10.213.0.1") | (2 ** (32 - length) - 1)) >>> 0;
    const inside = await checkAll(lengths.map((length) => withPeerAt(length, last(length))), {
      awk,
    });
    for (const [index, made] of inside.entries()) {
      assert.deepEqual([made.success, made.errors], [true, ""], `/${lengths[index]}`);
      assert.match(made.output, new RegExp(`^Address = 10\\.213\\.0\\.1/${lengths[index]}$`, "m"));
    }
    const outside = lengths.map((length) => withPeerAt(length, last(length) + 1));
    for (const made of await checkAll(outside, { awk })) assertRefused(made, /AllowedIPs = /);
  },
);

testWithEachAwk(
  "a mesh in networks where no host reaches another one, or not of unique local addresses → refused",
  async (awk) => {
    const ipv4 = [
      "0.0.0.1/8",
      "0.1.2.3/16",
      "127.0.0.1/8",
      "127.1.2.3/24",
      "169.254.0.1/16",
      "169.254.169.1/24",
      "169.255.0.1/15",
      "169.1.2.3/8",
      "224.0.0.1/8",
      "239.1.2.3/29",
      "240.0.0.1/8",
      "255.255.255.1/24",
    ];
    const ipv6 = [
      "::1/64",
      "::ffff:10.213.0.1/64",
      "::ffff:ad5:1/64",
      "64:ff9b::1/64",
      "2001:db8::1/64",
      "2002:ad5:1::1/64",
      "fc00::1/64",
      "fe80::1/64",
      "fec0::1/64",
      "ff02::1/64",
      "fd12:3456:789a:1::1/48",
      "fd12:3456:789a:1::1/128",
      "fd12:3456:789a:1::1/064",
      "fd12:3456:789a:1::1/64/64",
    ];
    // A configuration without peers, so that there is nothing else to refuse.
    const alone = readText("golden/alone.conf");
    const own = (from: string, to: string) => {
      assert.ok(alone.includes(from));
      return alone.replace(from, to);
    };
    const texts = [
      ...ipv4.map((address) => own(`Address = ${OWN_IPV4}`, `Address = ${address}`)),
      ...ipv6.map((address) => own(`#address ${OWN_IPV6}`, `#address ${address}`)),
    ];
    const made = await checkAll(texts, { awk });
    for (const [index, address] of [...ipv4, ...ipv6].entries()) {
      assertRefused(made[index]!, new RegExp(address.replaceAll(".", "\\.")));
    }
  },
);

testWithEachAwk("networks that the service can be set to → taken", async (awk) => {
  const alone = readText("golden/alone.conf");
  const networks = ["1.2.3.4/8", "100.64.0.1/10", "169.253.0.1/16", "170.0.0.1/8", "223.1.2.3/8"];
  const texts = networks.map((network) => alone.replace(OWN_IPV4, network));
  texts.push(alone.replaceAll("fd12:3456:789a:1::1", "fdff:ffff:ffff:ffff:ffff::1"));
  for (const { success, errors } of await checkAll(texts, { awk })) {
    assert.deepEqual([success, errors], [true, ""]);
  }
});

const SPELLINGS_OF_PEER_2 = [
  "fd12:3456:789a:1:0:0:0:2",
  "fd12:3456:789a:1:0000:0:00:0002",
  "fd12:3456:789a:0001::2",
  "fd12:3456:789a:1::0:2",
  "fd12:3456:789a:1:0::2",
];

testWithEachAwk(
  "a peer's IPv6 address in another spelling → the same text as in the usual one",
  async (awk) => {
    const [{ output } = assert.fail(), ...made] = await checkAll([
      SERVED,
      ...SPELLINGS_OF_PEER_2.flatMap((spelling) => [
        SERVED.replaceAll("fd12:3456:789a:1::2", spelling),
        served(FIRST_PEER, `AllowedIPs = 10.213.0.2/32, ${spelling}/128`),
        served(" fd12:3456:789a:1::2 . tcp . 22,", ` ${spelling} . tcp . 22,`),
        served("[2001:db8::3]", "[2001:0db8:0:0:0:0:0:3]"),
        served(`#address ${OWN_IPV6}`, "#address fd12:3456:789a:0001:0:0:0:1/64"),
      ]),
    ], { awk });
    for (const text of made) assert.deepEqual(text, { success: true, output, errors: "" });
  },
);

testWithEachAwk(
  "one IPv6 address of two peers, or the host's own, in another spelling → refused",
  async (awk) => {
    const second = "fd12:3456:789a:1::3/128";
    const own = ["fd12:3456:789a:1:0:0:0:1", "fd12:3456:789a:1:0::1", "fd12:3456:789a:1::1"];
    const texts = [...SPELLINGS_OF_PEER_2, ...own].map((spelling) =>
      served(second, `${spelling}/128`)
    );
    for (const made of await checkAll(texts, { awk })) assertRefused(made, /AllowedIPs = 10\.213/);
  },
);

testWithEachAwk("any IPv6 address in any spelling → written as RFC 5952 has it", async (awk) => {
  const group = fc.oneof(fc.constant("0"), fc.stringMatching(/^[1-9a-f][0-9a-f]{0,3}$/));
  const padded = fc.tuple(group, fc.nat(4)).map(([digits, width]) => digits.padStart(width, "0"));
  const addresses = fc.array(padded, { minLength: 7, maxLength: 7 })
    .map((groups) => ["2001", ...groups].join(":"));
  await fc.assert(
    fc.asyncProperty(fc.array(addresses, { minLength: 100, maxLength: 100 }), async (batch) => {
      const texts = batch.map((address) => served("[2001:db8::3]", `[${address}]`));
      for (const [index, { output }] of (await checkAll(texts, { awk })).entries()) {
        const { text } = parseIpv6(batch[index]!)!;
        assert.ok(output.includes(`\nEndpoint = [${text}]:51820\n`), `${batch[index]} as ${text}`);
      }
    }),
    { numRuns: 2, endOnFailure: true },
  );
});

testWithEachAwk(
  "addresses and numbers in invalid or non-decimal forms → refused",
  async (awk) => {
    const others: [from: string, to: string][] = [
      ["Address = 10.213.0.1/16", "Address = 10.213.0.1/016"],
      ["Address = 10.213.0.1/16", "Address = 10.213.0.01/16"],
      ["Address = 10.213.0.1/16", "Address = 10.213.1/16"],
      ["Address = 10.213.0.1/16", "Address = 10.213.0.1/7"],
      ["Address = 10.213.0.1/16", "Address = 10.213.0.1/33"],
      ["Address = 10.213.0.1/16", "Address = 10.213.0.1/"],
      ["Address = 10.213.0.1/16", "Address = 10.213.0.1/1e1"],
      ["Address = 10.213.0.1/16", "Address = 10.213.0.1/0x10"],
      ["ListenPort = 51820", "ListenPort = 051820"],
      ["ListenPort = 51820", "ListenPort = 9e3"],
      ["MTU = 1280", "MTU = 01280"],
      ["MTU = 1280", "MTU = 999"],
      [FIRST_PEER, FIRST_PEER.replace("/32", "/032")],
      [FIRST_PEER, FIRST_PEER.replace("10.213.0.2", "10.213.0.02")],
      [FIRST_PEER, FIRST_PEER.replace("/128", "/0128")],
      [FIRST_PEER, FIRST_PEER.replace("::2", "::2%1")],
      [FIRST_PEER, FIRST_PEER.replace("fd12", "FD12")],
      [FIRST_PEER, FIRST_PEER.replace("::2", "::0.0.0.2")],
      [FIRST_PEER, FIRST_PEER.replace("::2", ":0:0:123456789")],
      [FIRST_PEER, FIRST_PEER.replace("::2", "::00002")],
      [FIRST_PEER, FIRST_PEER.replace("::2", "::0:0:0:0:2")],
      [FIRST_PEER, FIRST_PEER.replace("::2", ":0:0:0:0:2")],
      [FIRST_PEER, FIRST_PEER.replace("::2", ":0:0:2")],
      [FIRST_PEER, FIRST_PEER.replace("::2", "::2::")],
      ["Endpoint = 203.0.113.2:51820", "Endpoint = 203.0.113.2:051820"],
      ["Endpoint = 203.0.113.2:51820", "Endpoint = 203.0.113.02:51820"],
      ["Endpoint = 203.0.113.2:51820", "Endpoint = 3405803778:51820"],
      ["Endpoint = [2001:db8::3]:51820", "Endpoint = [2001:DB8::3]:51820"],
      ["Endpoint = [2001:db8::3]:51820", "Endpoint = [::ffff:203.0.113.2]:51820"],
      ["endpoint vpn.example.com:51820", "endpoint 127.1:51820"],
      ["endpoint vpn.example.com:51820", "endpoint 0x7f.0x1:51820"],
      ["endpoint vpn.example.com:51820", "endpoint 127.0.0.0x1:51820"],
      ["10.213.0.2 . tcp . 22", "10.213.0.2 . tcp . 022"],
      ["10.213.0.2 . tcp . 22", "10.213.0.02 . tcp . 22"],
    ];
    const made = await checkAll(others.map(([from, to]) => served(from, to)), { awk });
    for (const [index, [, to]] of others.entries()) {
      assert.equal(made[index]!.output, "", to);
      assert.match(made[index]!.errors, /^the configuration is refused: .+\n$/, to);
    }
  },
);

testWithEachAwk(
  "a peer before the host's own addresses, or without them → refused with a sentence",
  async (awk) => {
    const [start = "", peer] = SERVED.split("\n\n[Peer]\n");
    const peerFirst = `[Peer]\n${peer}\n\n${start.slice(start.indexOf("Address = "))}`;
    const texts = [
      SERVED.replace(start, `[Interface]\n\n${peerFirst}`),
      served(`Address = ${OWN_IPV4}\n`, ""),
      served(`#address ${OWN_IPV6}\n`, ""),
      served(`Address = ${OWN_IPV4}\n`, "").replace(FIRST_PEER, `Address = ${OWN_IPV4}`),
      readText("golden/alone.conf").replace(`#address ${OWN_IPV6}\n`, ""),
    ];
    for (const made of await checkAll(texts, { awk })) {
      assertRefused(made, /no Address or no #address/);
    }
  },
);

/** The golden configuration with one text replaced. The configuration must contain that text. */
function served(from: string, to: string): string {
  assert.ok(SERVED.includes(from), from);
  return SERVED.replace(from, to);
}

function assertRefused({ output, errors }: Checked, reason: RegExp): void {
  assert.equal(output, "");
  assert.match(errors, /^the configuration is refused: [ -~]+\n$/);
  assert.match(errors, reason);
}

function number(address: string): number {
  return address.split(".").reduce((sum, octet) => sum * 256 + Number(octet), 0);
}

function quad(address: number): string {
  return [24, 16, 8, 0].map((bits) => (address >>> bits) & 0xff).join(".");
}

function testWithEachAwk(name: string, fn: (awk: Awk) => Promise<void>): void {
  for (const { awk, ignore } of AWKS) {
    Deno.test({ name: `check by ${awk} of ${name}`, ignore, fn: () => fn(awk) });
  }
}
