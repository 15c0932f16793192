import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import nacl from "tweetnacl";
import { createAgent, functionUrl, succeed } from "../conformance/client.ts";
import { documentedBlock, readBlocks } from "./blocks/documentation.ts";
import { Terminal } from "./blocks/terminal.ts";

Deno.test("docs/mesh.md, Pre-shared keys → one side of the pair rotates its PSK", async () => {
  const [alpha, beta] = [await createAgent("alpha"), await createAgent("beta")];
  for (const agent of [alpha, beta]) {
    const pubkey = Buffer.from(nacl.box.keyPair().publicKey).toString("base64");
    await succeed("/agent-mesh/peer/register", { as: agent, body: { agent_id: agent.id, pubkey } });
  }
  await succeed("/agent-mesh/acl/put", {
    as: "operator",
    body: { from_agent: beta.id, to_agent: alpha.id, port: 443, proto: "tcp" },
  });
  await succeed("/agent-mesh/wg_config", { as: alpha });

  await using terminal = await Terminal.open({ environment: { KEY: alpha.key } });
  const definitions = (await definitionsByHand()).replace(
    "https://<ref>.supabase.co/functions/v1/agent-mesh",
    functionUrl("/agent-mesh"),
  );
  const rotate = (await documentedBlock("docs/mesh.md, Pre-shared keys, 1"))
    .replace('"alpha"', `"${alpha.id}"`).replace('"beta"', `"${beta.id}"`);
  const answer = JSON.parse(await terminal.paste(definitions + rotate));
  assert.deepEqual([answer.a, answer.b, answer.psk_version], [alpha.id, beta.id, 2]);
});

/** The definitions of MESH and post. */
async function definitionsByHand(): Promise<string> {
  const { text } = (await readBlocks()).find(({ id }) => id === "docs/mesh.md, By hand, 1")!;
  return text.split("\n").filter((line) => /^(?:MESH=|post\(\))/.test(line)).join("\n") + "\n";
}
