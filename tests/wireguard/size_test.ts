import assert from "node:assert/strict";
import { renderWgQuick } from "../../supabase/functions/agent-mesh/wireguard/wg_quick.ts";
import { unknownLines } from "../unit/wireguard/inputs/line_grammar.ts";
import { configurationOf, largeState } from "../unit/wireguard/inputs/states.ts";
import { Internet } from "./hosts/internet.ts";
import { tunnelTest } from "./hosts/requirements.ts";

tunnelTest("1,000 peers and 5,000 rules → wg-quick up loads every one of them", async () => {
  await using internet = await Internet.create();
  const host = await internet.addHost("alice");
  const interfaceName = `${internet.id}-0`;
  const path = `${host.directory}/${interfaceName}.conf`;
  const text = renderWgQuick(configurationOf(largeState({ peers: 1000, rulesPerPeer: 5 })));
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
