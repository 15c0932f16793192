/**
 * What mesh-agent writes from a served configuration: only its data, and only the agent's own
 * lines.
 */
import assert from "node:assert/strict";
import fc from "fast-check";
import { renderWgQuick } from "../../../supabase/functions/agent-mesh/wireguard/wg_quick.ts";
import { meshStates } from "../../unit/wireguard/inputs/mesh_states.ts";
import {
  aliceState,
  configurationOf,
  largeState,
  peerState,
} from "../../unit/wireguard/inputs/states.ts";
import { readText } from "../../unit/wireguard/vectors.ts";
import { check, checkAll, isSafeUrl } from "./check.ts";
import { HOSTILE_LINES, mutations } from "./served_mutations.ts";

const SERVED = readText("golden/every_kind_of_peer.conf");
const OWN = await Deno.readTextFile(
  new URL("../../../examples/mesh-agent/own.conf", import.meta.url),
);

for (const firewall of ["nftables", "none"] as const) {
  Deno.test(`check of any configuration that the service renders, firewall ${firewall} → the same data; of its own output → the same text`, async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(meshStates, { minLength: 10, maxLength: 10 }), async (states) => {
        const served = states.map((state) => renderWgQuick(configurationOf(state), { firewall }));
        const made = await checkAll(served, { firewall });
        for (const [index, { success, output, errors }] of made.entries()) {
          assert.deepEqual([success, errors], [true, ""]);
          assert.deepEqual(settingsIn(output), settingsIn(served[index]!));
          assert.deepEqual(elementsIn(output), elementsIn(served[index]!));
        }
        assert.deepEqual(await checkAll(made.map(({ output }) => output), { firewall }), made);
      }),
      { numRuns: 3, endOnFailure: true },
    );
  });
}

Deno.test("check of a thousand peers with five rules each → the same data", async () => {
  const served = renderWgQuick(configurationOf(largeState({ peers: 1_000, rulesPerPeer: 5 })));
  const { output } = await check(served);
  assert.deepEqual(settingsIn(output), settingsIn(served));
  assert.deepEqual(elementsIn(output), elementsIn(served));
});

Deno.test("check of hooks and rules in other words → the agent's own, as if they were not there", async () => {
  const { output } = await check(SERVED);
  const reworded = SERVED
    .replaceAll(/^(PostUp|PostDown) = .*$/gm, "$1 = touch /tmp/served\nPreUp = id\nPreDown = id")
    .replaceAll(/^#nft {5}(ip6? daddr|ct|iifname|drop|oifname).*$/gm, "#nft     accept")
    .replace("#nft   chain into_tunnel {", "#nft   chain another_name {");
  assert.notEqual(reworded, SERVED);
  assert.deepEqual(await check(reworded), { success: true, output, errors: "" });
});

for (const before of ["MTU = 1280", "AllowedIPs = 10.213.0.2/32", "#nft   set peers_ipv4 {"]) {
  Deno.test(`check of a hostile line before ${before} → refused with a sentence, or nothing is made of it`, async () => {
    const { output } = await check(SERVED);
    const checked = await checkAll(
      HOSTILE_LINES.map((line) => SERVED.replace(before, `${line}\n${before}`)),
    );
    for (const [index, made] of checked.entries()) {
      if (made.success) assert.equal(made.output, output, HOSTILE_LINES[index]!);
      else assertRefused(made);
    }
  });
}

Deno.test("check of any mutation of a served configuration → refused with one sentence, or no line that is not the agent's own", async () => {
  const others = renderWgQuick(configurationOf(aliceState({
    listen_port: 7,
    peers: [peerState(5, { inbound_rules: [{ proto: "udp", port: 9 }] })],
  })));
  const texts = mutations([SERVED, others, readText("golden/no_firewall.conf")]);
  let taken = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(texts, { minLength: 60, maxLength: 60 }), async (batch) => {
      for (const made of await checkAll(batch)) {
        if (!made.success) {
          assertRefused(made);
          continue;
        }
        taken++;
        assert.deepEqual(foreignLines(made.output), []);
      }
    }),
    { numRuns: 10, endOnFailure: true },
  );
  assert.ok(taken > 30, `only ${taken} were taken: too few to show anything`);
});

Deno.test("check of a line with a secret → the refusal does not show it", async () => {
  const secret = /^PresharedKey = (.*)$/m.exec(SERVED)![1]!;
  for (
    const spoilt of [`PresharedKey=${secret}`, `PostUpp = ${secret}`, `Presharedkey = ${secret} `]
  ) {
    const { success, errors } = await check(SERVED.replace(`PresharedKey = ${secret}`, spoilt));
    assert.equal(success, false);
    assert.equal(errors.includes(secret.slice(0, 20)), false, errors);
  }
});

Deno.test("check of an endpoint that leads back to the host or into the mesh → the peer has none", async () => {
  const endpoint = "Endpoint = 203.0.113.2:51820";
  const { output } = await check(SERVED);
  for (
    const host of [
      "127.0.0.1",
      "0.0.0.0",
      "10.213.0.2",
      "169.254.1.1",
      "224.0.0.1",
      "240.0.0.1",
      "255.255.255.255",
      "[::]",
      "[::1]",
      "[::ffff:ad5:2]",
      "[::7f00:1]",
      "[64:ff9b::a9fe:1]",
      "[::ad5:2]",
      "[64:ff9b::ad5:2]",
      "[64:ff9b:0:0:0:0:ad5:2]",
      "[fe80::1]",
      "[fec0::1]",
      "[ff02::1]",
      "[fd12:3456:789a:1::2]",
      "[fd12:3456:789a:0001:ffff::2]",
    ]
  ) {
    const spoilt = await check(SERVED.replace(endpoint, `Endpoint = ${host}:51820`));
    assert.equal(spoilt.output, output.replace(`${endpoint}\n`, ""), host);
  }
});

Deno.test("check of a peer with further endpoints → they are passed over", async () => {
  const endpoint = "Endpoint = 203.0.113.2:51820";
  const { output } = await check(SERVED);
  const made = await check(
    SERVED.replace(endpoint, `${endpoint}\n# endpoints [2001:db8::2]:51820 host.example:7`),
  );
  assert.deepEqual([made.success, made.output], [true, output]);
});

Deno.test("check of a file that is not a configuration → refused, nothing is printed", async () => {
  const cut = SERVED.slice(0, SERVED.indexOf("#nft   chain into_tunnel"));
  const withoutPeerKey = SERVED.replace(/^PresharedKey = .*\n/m, "");
  const sameAddress = SERVED.replace("10.213.0.3/32", "10.213.0.2/32");
  for (
    const text of [
      "",
      "\n",
      "[Interface]\n",
      "# only a comment\n",
      cut,
      withoutPeerKey,
      sameAddress,
    ]
  ) {
    assertRefused(await check(text));
  }
  for (const character of ["\0", "\r", "\t", "\x1b[2J", "é", "\u2028", "\x7f"]) {
    assertRefused(await check(SERVED.replace("[Peer]", `[Peer]${character}`)));
    assertRefused(await check(SERVED.replace("PostDown = ", `PostDown = ${character}`)));
  }
});

Deno.test("MESH_URL=http:// and a loopback address in its usual spelling → taken; in another, or another host → refused", async () => {
  for (const host of ["127.0.0.1", "127.255.10.99:8000", "localhost:1", "[::1]:54321"]) {
    assert.equal(await isSafeUrl(`http://${host}/functions/v1/agent-mesh`), true, host);
  }
  for (
    const host of [
      "127.999.1.1",
      "127.0.0.256",
      "127.0.0.01",
      "127.1",
      "0.0.0.0",
      "[::ffff:7f00:1]",
    ]
  ) {
    assert.equal(await isSafeUrl(`http://${host}/functions/v1/agent-mesh`), false, host);
  }
});

function assertRefused({ output, errors }: { output: string; errors: string }): void {
  assert.equal(output, "");
  assert.match(errors, /^the configuration is refused: [ -~]+\n$/);
}

/** All settings except the hooks, which are the agent's own, and except comments. */
function settingsIn(text: string): string[] {
  return text.split("\n").filter((line) =>
    line !== "" && !/^(?:#nft |# |Post(?:Up|Down) = )/.test(line)
  );
}

/** Every element of every set of the ruleset, with the set's name. */
function elementsIn(text: string): string[] {
  return Array.from(text.matchAll(/^#nft {3}set (\w+) \{\n((?:#nft {4}.*\n)*)/gm)).flatMap(
    ([, set, block]) =>
      Array.from(
        block!.matchAll(/([0-9a-f.:]+(?: \. \w+ \. \d+)?),/g),
        ([, element]) => `${set} ${element}`,
      ),
  );
}

const IPV4 = "[0-9]{1,3}(?:\\.[0-9]{1,3}){3}";
const IPV6 = "[0-9a-f:]{2,39}";
const PORT = "[0-9]{1,5}";
/** Matches the lines that `check` writes for each form of served data. */
const DATA = new RegExp(
  `^(?:|\\[Peer\\]|# [A-Za-z0-9][A-Za-z0-9._:@-]*|(?:PublicKey|PresharedKey) = [A-Za-z0-9+/]{43}=` +
    `|AllowedIPs = ${IPV4}/32, ${IPV6}/128|Endpoint = (?:${IPV4}|\\[${IPV6}\\]):${PORT}` +
    `|#endpoint [A-Za-z0-9+/]{43}= endpoint [a-z0-9][a-z0-9.-]*:${PORT}|PersistentKeepalive = ${PORT}` +
    `|#nft     (?:elements = \\{|\\})|#nft       (?:${IPV4}|${IPV6})(?: \\. (?:tcp|udp) \\. ${PORT})?,)$`,
);
const SLOTS: Readonly<Record<string, string>> = {
  address: `${IPV4}/[0-9]{1,2}`,
  ipv4: IPV4,
  ipv6: IPV6,
  listen_port: PORT,
  mtu: PORT,
  private_key: "/etc/wireguard/%i\\.key",
};
/** Matches the lines of own.conf, with any data in its slots. */
const OWN_LINES = OWN.slice(OWN.indexOf("[Interface]")).split("\n").map((line) =>
  new RegExp(
    "^" + line.replace(/^<(?:nftables|names)>/, "").replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&")
      .replaceAll(/<(\w+)>/g, (slot, name) => SLOTS[name] ?? slot) +
      "$",
  )
);

/** The lines of a written configuration that are neither data nor lines of own.conf. */
function foreignLines(text: string): string[] {
  return text.split("\n").filter((line) =>
    !DATA.test(line) && !OWN_LINES.some((own) => own.test(line))
  );
}
