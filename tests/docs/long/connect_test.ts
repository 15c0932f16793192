import assert from "node:assert/strict";
import { type Agent, createAgent, operatorRpc, post } from "../../conformance/client.ts";
import { PROGRAM } from "../../mesh_up/hosts/command_line.ts";
import { eventually } from "../../wireguard/hosts/run_program.ts";
import type { Host } from "../../wireguard/hosts/host.ts";
import { Internet } from "../../wireguard/hosts/internet.ts";
import { tunnelTest } from "../../wireguard/hosts/requirements.ts";
import { SERVICE_ORIGIN, ServiceDoor } from "../../wireguard/hosts/service_door.ts";
import { PROJECT } from "../../../packages/local/project.ts";
import { documentedBlock } from "../blocks/documentation.ts";
import { Terminal, type TerminalOptions } from "../blocks/terminal.ts";

/** A reader of the documentation on one of its two hosts. */
interface Reader {
  readonly host: Host;
  readonly agent: Agent;
}

/** alpha, which can be reached from outside, and beta behind NAT. */
class Pair implements AsyncDisposable {
  private constructor(
    readonly alpha: Reader,
    readonly beta: Reader,
    private readonly stack: AsyncDisposableStack,
  ) {}

  static async create(): Promise<Pair> {
    const stack = new AsyncDisposableStack();
    const internet = stack.use(await Internet.create());
    const [at, behindNat] = [
      await internet.addHost("alpha"),
      await internet.addHostBehindNat("beta"),
    ];
    await behindNat.resolve("alpha.example.com", at.address!);
    for (const host of [at, behindNat]) stack.use(await ServiceDoor.open(host));
    const alpha = { host: at, agent: await createAgent("alpha") };
    const beta = { host: behindNat, agent: await createAgent("beta") };
    return new Pair(alpha, beta, stack);
  }

  get readers(): readonly Reader[] {
    return [this.alpha, this.beta];
  }

  /** The block for these agents and this service. */
  async block(text: Promise<string>): Promise<string> {
    let block = (await text).replaceAll("https://<ref>.supabase.co", SERVICE_ORIGIN);
    for (const [name, { agent }] of Object.entries({ alpha: this.alpha, beta: this.beta })) {
      block = block.replaceAll(new RegExp(`(?<=[ "])${name}(?=[ "\\n]|\\.mesh)`, "g"), agent.id);
    }
    return block;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { agent } of this.readers) {
      await post("/agent-mesh/peer/remove", { as: "operator", body: { agent_id: agent.id } });
      await operatorRpc("revoke_agent_keys", { agent_id: agent.id });
    }
    await this.stack.disposeAsync();
  }
}

tunnelTest("README, Connect two agents → beta behind NAT pings alpha", async () => {
  await using pair = await Pair.create();
  await using stack = new AsyncDisposableStack();
  const [login = "", up = "", ...others] =
    (await pair.block(documentedBlock("README.md, Connect two agents, 1"))).trim().split("\n");
  assert.deepEqual(others, []);
  const allow = await pair.block(documentedBlock("README.md, Connect two agents, 2"));
  const terminals = new Map<Reader, Terminal>();
  const running: Terminal[] = [];
  const begunAt = performance.now();
  for (const reader of pair.readers) {
    const options = await installed(reader.host);
    const terminal = stack.use(await Terminal.open(options));
    await terminal.paste(login, { typed: `${reader.agent.key}\n` });
    const other = stack.use(
      await Terminal.open({
        ...options,
        environment: { ...options.environment, HOME: terminal.home },
      }),
    );
    await other.begin(up);
    running.push(other);
    terminals.set(reader, terminal);
  }
  let agreed = "";
  for (const terminal of terminals.values()) agreed = await terminal.paste(allow);
  assert.equal(agreed, "The rule is active.\n");
  const ping = await pair.block(documentedBlock("README.md, Connect two agents, 3"));
  await eventually("beta reaches alpha by its name", {
    condition: async () => (await pair.beta.host.runAnyhow(ping.trim().split(" "))).success,
  });
  const seconds = (performance.now() - begunAt) / 1000;
  console.log(`First ping ${seconds.toFixed(1)} s after the first pasted line`);
  for (const terminal of running) await terminal.interrupt();
});

tunnelTest("docs/mesh.md, By hand → beta behind NAT pings alpha", async () => {
  await using pair = await Pair.create();
  await using stack = new AsyncDisposableStack();
  const terminals = new Map<Reader, Terminal>();
  for (const reader of pair.readers) {
    const options = { folder: `${PROJECT}/examples`, through: reader.host.enter };
    terminals.set(reader, stack.use(await Terminal.open(options)));
  }
  const paste = async (reader: Reader, block: Promise<string>, typed = "") => {
    // The interface's name would be the same in all namespaces.
    const text = (await pair.block(block)).replaceAll("mesh0", interfaceOf(reader.host));
    const printed = await terminals.get(reader)!.paste(text, { typed });
    assert.equal(printed.includes('"error"'), false, printed);
    return printed;
  };
  const { alpha, beta } = pair;
  for (const reader of pair.readers) {
    await paste(reader, documentedBlock("docs/mesh.md, By hand, 1"), `${reader.agent.key}\n`);
  }
  await paste(alpha, documentedBlock("docs/mesh.md, By hand, 2"));
  const agreed = await paste(beta, documentedBlock("docs/mesh.md, By hand, 3"));
  assert.match(agreed, /"active" ?: ?true\b/);
  const up = documentedBlock("docs/mesh.md, By hand, 4");
  for (const reader of [beta, alpha]) await paste(reader, up);
  // Ping longer than the page, because the first handshake may be sent before the peer is up.
  const ping = documentedBlock("docs/mesh.md, By hand, 5")
    .then((block) => block.replace("ping -c 3 ", "ping -c 3 -w 30 "));
  assert.match(await paste(beta, ping), /[1-9] received/);
  for (const { host } of pair.readers) await host.run(["wg-quick", "down", interfaceOf(host)]);
});

/** A host with `agentfiles` and `sudo`, and with a /run that no other host sees. */
async function installed({ directory, enter }: Host): Promise<TerminalOptions> {
  const folder = `${directory}/installed`;
  await Deno.mkdir(folder, { recursive: true });
  const programs = {
    agentfiles: `#!/bin/sh\nexec ${PROGRAM.join(" ")} "$@"\n`,
    sudo: '#!/bin/sh\nexec "$@"\n',
  };
  for (const [name, text] of Object.entries(programs)) {
    await Deno.writeTextFile(`${folder}/${name}`, text, { mode: 0o755 });
  }
  const run = `${directory}/run`;
  const script = 'mkdir -p /run/agentfiles-mesh "$0" && ' +
    'mount --bind "$0" /run/agentfiles-mesh && exec "$@"';
  return {
    through: [...enter, "sh", "-c", script, run],
    environment: { PATH: `${folder}:${Deno.env.get("PATH")}`, NO_COLOR: "1" },
  };
}

function interfaceOf(host: Host): string {
  return host.namespace.slice(0, 14);
}
