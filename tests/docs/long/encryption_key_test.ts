import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import nacl from "tweetnacl";
import { freePort } from "../../../packages/local/processes/free_port.ts";
import {
  launch,
  openStateDirectory,
  readEnvironment,
} from "../../../packages/local/tests/stack/stack_process.ts";
import { documentedBlock } from "../blocks/documentation.ts";
import { filledIn, PROJECT_REF } from "../blocks/placeholders.ts";
import { Terminal } from "../blocks/terminal.ts";
import { openHostedProject } from "./hosted_project.ts";

interface Connection {
  readonly SUPABASE_URL: string;
  readonly SUPABASE_SECRET_KEY: string;
}

/** Calls an operation of the mesh as the operator. Returns the answer. */
async function ask(stack: Connection, path: string, body: unknown) {
  const response = await fetch(`${stack.SUPABASE_URL}/functions/v1/agent-mesh/${path}`, {
    method: "POST",
    headers: { apikey: stack.SUPABASE_SECRET_KEY },
    body: JSON.stringify(body),
  });
  const answer = await response.json();
  assert.equal(response.status, 200, JSON.stringify(answer));
  return answer;
}

/** Registers alpha and beta, with a rule between them. */
async function addPair(stack: Connection): Promise<void> {
  for (const agent_id of ["alpha", "beta"]) {
    const pubkey = Buffer.from(nacl.box.keyPair().publicKey).toString("base64");
    await ask(stack, "peer/register", { agent_id, pubkey });
  }
  await ask(stack, "acl/put", { from_agent: "beta", to_agent: "alpha", port: 443, proto: "tcp" });
}

/** The pair's PSK, from alpha's configuration. */
async function readPsk(stack: Connection): Promise<string> {
  const { config } = await ask(stack, "wg_config", { agent_id: "alpha" });
  return /^PresharedKey = (.+)$/m.exec(config)![1]!;
}

async function connectionOf(stateDir: string): Promise<Connection> {
  return await readEnvironment(stateDir) as unknown as Connection;
}

async function encryptionKeysOf(stateDir: string): Promise<string> {
  return JSON.parse(await Deno.readTextFile(`${stateDir}/keys.json`)).pskEncryptionKeys;
}

/** Removes the variables that lead to the stack of the tests. */
const OWN_STACK = { SUPABASE_URL: "", SUPABASE_SECRET_KEY: "" };

Deno.test("docs/mesh.md, Replace the encryption key, on the local stack → the same PSK under a new key", async () => {
  await using state = await openStateDirectory();
  const port = await freePort();
  const environment = { ...OWN_STACK, STATE_DIR: state.path, PORT: String(port) };
  const first = await launch({ stateDir: state.path, port });
  await first.ready();
  const stack = await connectionOf(state.path);
  await addPair(stack);
  const psk = await readPsk(stack);
  const oldKey = await encryptionKeysOf(state.path);

  await using terminal = await Terminal.open({ environment });
  await using secondTerminal = await Terminal.open({ environment });
  const stop = await documentedBlock("docs/mesh.md, Replace the encryption key, 3");
  const begun = await terminal.paste(`${stop}\nenv | grep ^PSK_ENCRYPTION_KEYS= > variables`);
  assert.match(begun, /Stopped\./);
  await first.exit();
  await terminal.begin(await documentedBlock("docs/mesh.md, Replace the encryption key, 4"));
  await terminal.untilPrinted("Ready:");
  // As the page says, the reader sets the same variable in the second terminal.
  await secondTerminal.paste(`export "$(cat '${terminal.home}/variables')"`);
  const replaced = await secondTerminal.paste(
    await documentedBlock("docs/mesh.md, Replace the encryption key, 5"),
  );
  assert.match(replaced, /1 PSKs? re-?encrypted/);
  await terminal.interrupt();

  assert.notEqual(await encryptionKeysOf(state.path), oldKey);
  const last = await launch({ stateDir: state.path, port });
  await last.ready();
  assert.equal(await readPsk(stack), psk);
  last.kill("SIGTERM");
  await last.exit();
});

Deno.test("docs/mesh.md, Replace the encryption key, of a hosted project → both keys, then the new one alone", async () => {
  await using project = await openHostedProject();
  const { terminal } = project;
  const oldKey = btoa("o".repeat(32));
  await terminal.paste(`npx supabase@any link --project-ref ${PROJECT_REF}`);
  await terminal.paste(`echo PSK_ENCRYPTION_KEYS=${oldKey} > ~/psk.env`);
  await terminal.paste(
    filledIn(await documentedBlock("docs/mesh.md, Replace the encryption key, 1")),
  );
  const both = project.secrets.get("PSK_ENCRYPTION_KEYS")!;
  const [newKey, ...others] = both.split(",");
  assert.deepEqual(others, [oldKey]);

  // Start functions with the secret that the reader has set.
  await using state = await openStateDirectory();
  const functions = await launch({
    stateDir: state.path,
    environment: { PSK_ENCRYPTION_KEYS: both },
  });
  await functions.ready();
  const { SUPABASE_URL, SUPABASE_SECRET_KEY } = await connectionOf(state.path);
  await terminal.paste(
    `export SUPABASE_URL=${SUPABASE_URL} SUPABASE_SECRET_KEY=${SUPABASE_SECRET_KEY}`,
  );
  await terminal.paste(
    filledIn(await documentedBlock("docs/mesh.md, Replace the encryption key, 2")),
  );
  assert.equal(project.secrets.get("PSK_ENCRYPTION_KEYS"), newKey);
  const kept = await terminal.paste("cat ~/psk.env; ls ~/*.env");
  assert.equal(kept, `PSK_ENCRYPTION_KEYS=${newKey}\n${terminal.home}/psk.env\n`);
  functions.kill("SIGTERM");
  await functions.exit();
});
