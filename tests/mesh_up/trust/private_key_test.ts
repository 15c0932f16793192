import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { eventually } from "../../wireguard/hosts/run_program.ts";
import { Mesh } from "../../wireguard/hosts/mesh_of_hosts.ts";
import { tunnelTest } from "../../wireguard/hosts/requirements.ts";
import { joinWithAgents } from "../hosts/host_agent.ts";

tunnelTest(
  "an agent that registers, reports, gets another private key, and rotates it → no private key in any request or log line",
  async () => {
    await using mesh = await Mesh.create();
    const { alice: { host, interfaceName, meshAgent } } = await joinWithAgents(mesh);
    const readKey = async () =>
      (await Deno.readTextFile(`${host.directory}/${interfaceName}.key`)).trim();
    const keys = [await readKey()];
    await meshAgent.untilRunsWith(await meshAgent.replacePrivateKey());
    keys.push(await readKey());
    assert.equal((await meshAgent.runSecond({}, ["--rotate-key"])).code, 0);
    keys.push(await readKey());
    const publicKey = await host.run(["wg", "pubkey"], { input: keys[2]! });
    await meshAgent.untilRunsWith(publicKey);
    const { texts } = meshAgent.door;
    await eventually("a heartbeat after the rotation", {
      condition: () => Promise.resolve(/\/(wait|heartbeat)"/.test(texts.at(-1)!)),
    });

    assert.equal(new Set(keys).size, 3);
    assert.ok(texts.some((text) => text.includes(publicKey.trim())), "requests are searched");
    const logs = ["agent.log", "second-agent.log"].map((name) => host.readLog(name));
    const searched = [...texts, ...await Promise.all(logs)];
    for (const spelling of keys.flatMap(spellingsOf)) {
      assert.equal(searched.filter((text) => text.includes(spelling)).length, 0);
    }
  },
);

/** The key as base64 (without padding), base64url, and hex. */
function spellingsOf(key: string): string[] {
  const bytes = Buffer.from(key, "base64");
  return [key.replaceAll("=", ""), bytes.toString("base64url"), bytes.toString("hex")];
}
