import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { join as joinPath } from "node:path";
import {
  type Agent,
  functionUrl,
  headersOf,
  operatorRpc,
  SUPABASE_URL,
} from "../../conformance/client.ts";
import { meshTest, newPubkey, ruleBetween } from "../../conformance/mesh_cast.ts";
import { readEveryTable } from "../../database/tables/every_table.ts";
import { stackEncryptionKeys, startOwnMeshFunction } from "../mesh_function.ts";
import { startProxy } from "../proxy.ts";

meshTest(
  "a PSK → in the two /wg_config answers alone; an encryption key → nowhere: no table, log, other response, call to the stack",
  async ({ alice, bob, carol }) => {
    await using proxy = startProxy(SUPABASE_URL);
    await using own = await startOwnMeshFunction(proxy.url);
    const psks = new Set<string>();
    const otherAnswers: string[] = [];

    /**
     * Sends a request. Collects the PSKs of a configuration, and the whole text of any other
     * answer.
     */
    const send = async (path: string, as: Agent, body: unknown = {}) => {
      const response = await fetch(`${own.process.url}/agent-mesh/${path}`, {
        method: "POST",
        headers: headersOf(as),
        body: typeof body === "string" ? body : JSON.stringify(body),
      });
      const text = await response.text();
      const headers = JSON.stringify([...response.headers]);
      if (path !== "wg_config" || response.status !== 200) {
        otherAnswers.push(text, headers);
        return;
      }
      otherAnswers.push(headers);
      const { config, peers = [] } = JSON.parse(text);
      for (const [, psk] of (config ?? "").matchAll(/^PresharedKey = (.*)$/gm)) psks.add(psk);
      for (const { preshared_key } of peers) psks.add(preshared_key);
    };

    const register = (agent: Agent, endpoint: string | null = null) =>
      send("peer/register", agent, { agent_id: agent.id, pubkey: newPubkey(), endpoint });
    const rule = ruleBetween(alice, bob);
    await register(alice, "203.0.113.7:51820");
    await register(bob);
    await send("acl/put", alice, rule);
    await send("acl/put", bob, rule);
    for (const agent of [alice, bob]) await send("wg_config", agent);
    assert.equal(psks.size, 1, "one pair, one PSK");
    await send("psk/rotate", bob, { a: alice.id, b: bob.id });
    for (const agent of [bob, alice]) await send("wg_config", agent);
    await register(alice, "203.0.113.8:51820");
    for (const agent of [alice, bob]) await send("wg_config", agent, { format: "json" });
    assert.equal(psks.size, 3, "replaced by the rotation, and by the new pubkey");
    const stored = proxy.passed.filter(({ path }) => path.endsWith("/rpc/agent_api_store_psks"));
    assert.equal(stored.length, 3, "the calls that store PSKs are among those searched");

    for (const agent of [alice, bob, carol]) {
      await send("netmap", agent);
      await send("peer/heartbeat", agent, { agent_id: agent.id, config_version: 1 });
      await send("wg_config", agent, { agent_id: "somebody-else" });
      await send("wg_config", agent, { firewall: "?", private_key_file: "?" });
      await send("wg_config", agent, "no json");
      await send("psk/rotate", agent, { a: agent.id, b: [...psks][0] });
    }
    await send("acl/revoke", alice, rule);
    await send("peer/remove", bob, { agent_id: bob.id });
    otherAnswers.push(await openApi(), await encryptedPsks());

    const searched = {
      "another response": otherAnswers.map((text) => Buffer.from(text)),
      "a call to the stack": proxy.passed.map((call) => Buffer.from(JSON.stringify(call))),
      "a table": Array.from((await readEveryTable()).values(), (text) => Buffer.from(text)),
      "a log": await everyLog(),
    };
    const secrets = [...psks, ...(await stackEncryptionKeys()).split(",")];
    for (const [place, texts] of Object.entries(searched)) {
      assert.ok(texts.length > 0, `there is ${place} to search`);
      for (const secret of secrets) {
        for (const spelling of spellingsOf(secret)) {
          assert.equal(texts.filter((text) => text.includes(spelling)).length, 0, place);
        }
      }
    }
  },
);

/** The bytes themselves, and as base64 (without padding), base64url, and hex in either case. */
function spellingsOf(secret: string): Buffer[] {
  const bytes = Buffer.from(secret, "base64");
  const hex = bytes.toString("hex");
  return [
    bytes,
    ...[secret.slice(0, -1), bytes.toString("base64url"), hex, hex.toUpperCase()].map((text) =>
      Buffer.from(text)
    ),
  ];
}

async function everyLog(): Promise<Buffer[]> {
  const directory = joinPath(Deno.env.get("STATE_DIR")!, "logs");
  const logs: Buffer[] = [];
  for await (const entry of Deno.readDir(directory)) {
    if (entry.isFile) logs.push(Buffer.from(await Deno.readFile(joinPath(directory, entry.name))));
  }
  assert.ok(logs.some((log) => log.includes("/wg_config")), "the log of this run is among them");
  return logs;
}

async function openApi(): Promise<string> {
  return await (await fetch(functionUrl("/agent-mesh/openapi.json"))).text();
}

/** Everything that the operator can read of PSKs through PostgREST: only encrypted ones. */
async function encryptedPsks(): Promise<string> {
  const { status, body } = await operatorRpc("list_psks_to_reencrypt", {
    newest_key_id: "0".repeat(16),
    max_entries: 1000,
  });
  assert.equal(status, 200);
  return JSON.stringify(body);
}
