import assert from "node:assert/strict";
import { encodeBase64 } from "../../supabase/functions/_shared/wireguard/base64.ts";
import { renderWgQuick } from "../../supabase/functions/_shared/wireguard/wg_quick.ts";
import { unknownLines } from "../unit/wireguard/line_grammar.ts";
import { aliceState, configurationOf, peerState } from "../unit/wireguard/states.ts";
import { Internet } from "./internet.ts";
import { tunnelTest } from "./requirements.ts";

tunnelTest("1,000 peers and 5,000 rules → wg-quick up has every one of them", async () => {
  await using internet = await Internet.create();
  const host = await internet.addHost("alice");
  const interfaceName = `${internet.id}-0`;
  const peers = Array.from({ length: 1000 }, (_, index) => {
    const key = new Uint8Array(32).fill(9);
    new DataView(key.buffer).setUint16(0, index);
    const [high, low] = [index >> 8, index & 0xff];
    return peerState(2, {
      agent_id: `agent-${index}`,
      pubkey: encodeBase64(key),
      endpoint: `203.0.${113 + high}.${low}:51820`,
      addresses: [`10.213.${high + 1}.${low}`, `fd12:3456:789a:1:1::${index.toString(16)}`],
      inbound_rules: Array.from({ length: 5 }, (_, rule) => ({
        proto: rule % 2 === 0 ? "tcp" : "udp",
        port: 1000 + rule,
      })),
    });
  });
  const path = `${host.directory}/${interfaceName}.conf`;
  const text = renderWgQuick(configurationOf(aliceState({ peers })));
  assert.deepEqual(unknownLines(text), []);
  await host.run(["sh", "-c", 'wg genkey >"$0"', `${host.directory}/key`]);
  await Deno.writeTextFile(path, text.replace("/etc/wireguard/%i.key", `${host.directory}/key`), {
    mode: 0o600,
  });

  await host.run(["wg-quick", "up", path]);
  const endpoints = await host.run(["wg", "show", interfaceName, "endpoints"]);
  assert.equal(endpoints.match(/\t203\.0\.11[3-6]\.\d+:51820$/gm)?.length, 1000);
  for (const family of ["ipv4", "ipv6"]) {
    const set = ["inet", `agent_mesh_${interfaceName}`, `rules_${family}`];
    const rules = await host.run(["nft", "list", "set", ...set]);
    assert.equal(rules.match(/ \. (tcp|udp) \. 100[0-4]/g)?.length, 5000);
  }
});
