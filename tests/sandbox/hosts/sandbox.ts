import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { type Agent, createAgent, succeed } from "../../conformance/client.ts";
import { run } from "../../wireguard/hosts/run_program.ts";
import type { Host } from "../../wireguard/hosts/host.ts";
import type { Member, Mesh } from "../../wireguard/hosts/mesh_of_hosts.ts";
import { SERVICE_ORIGIN, ServiceDoor } from "../../wireguard/hosts/service_door.ts";
import type { Answer, Command, Joined, MeshPeer, Sent } from "./sandbox_protocol.ts";
import { programCommand, type Runtime, UNPRIVILEGED } from "./programs.ts";

/** The SHA-256 of "hello". */
export const HELLO = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";

interface Setup {
  readonly runtime: Runtime;
  readonly environment: Readonly<Record<string, string>>;
  /** The file with its private key. Without it, each process has its own key. */
  readonly keyFile?: string | undefined;
}

/**
 * An application in a sandbox that joins the mesh: a process without privileges on its own host.
 */
export class Sandbox implements AsyncDisposable {
  readonly #child: ReturnType<typeof spawn>;
  readonly #lines: AsyncIterator<string>;
  readonly #ended: Promise<unknown>;
  #self: Joined | null = null;

  private constructor(
    readonly host: Host,
    readonly agent: Agent,
    private readonly setup: Setup,
    command: readonly string[],
  ) {
    const [program = "", ...args] = [...host.enter, ...UNPRIVILEGED, ...command];
    this.#child = spawn(program, args, {
      stdio: ["pipe", "pipe", "inherit"],
      env: { PATH: Deno.env.get("PATH") ?? "", ...setup.environment },
    });
    this.#lines = createInterface({ input: this.#child.stdout! })[Symbol.asyncIterator]();
    this.#ended = new Promise((resolve) => this.#child.on("close", resolve));
  }

  /** A new agent on a new host that has joined the mesh. It ends with `mesh`. */
  static async join(
    mesh: Mesh,
    { name, runtime = "deno", behindNat = false, keepsKey = false }: {
      readonly name: string;
      readonly runtime?: Runtime;
      readonly behindNat?: boolean;
      readonly keepsKey?: boolean;
    },
  ): Promise<Sandbox> {
    const { internet } = mesh;
    const host = behindNat ? await internet.addHostBehindNat(name) : await internet.addHost(name);
    mesh.attach(await ServiceDoor.open(host));
    const keyFile = keepsKey ? `${await ownFolder(host)}/key` : undefined;
    return await Sandbox.start(mesh, { host, agent: await createAgent(name), runtime, keyFile });
  }

  /** Starts another process of an agent on an existing host. */
  static async start(
    mesh: Mesh,
    { host, agent, runtime, environment = {}, keyFile }:
      & { readonly host: Host; readonly agent: Agent }
      & Pick<Setup, "runtime" | "keyFile">
      & Partial<Setup>,
  ): Promise<Sandbox> {
    const setup = { runtime, environment, keyFile };
    const command = await programCommand(runtime);
    const sandbox = mesh.attach(new Sandbox(host, agent, setup, command));
    sandbox.#self = await sandbox.tell<Joined>({
      do: "join",
      url: SERVICE_ORIGIN,
      key: agent.key,
      ...(keyFile !== undefined && { keyFile }),
    });
    return sandbox;
  }

  get keyFile(): string {
    return this.setup.keyFile!;
  }

  get name(): string {
    return this.#self!.name;
  }

  get ipv4(): string {
    return this.#self!.addresses[0];
  }

  get ipv6(): string {
    return this.#self!.addresses[1];
  }

  async peers(): Promise<readonly MeshPeer[]> {
    return (await this.tell<{ peers: MeshPeer[] }>({ do: "peers" })).peers;
  }

  /** This sandbox's view of another one. */
  async peer({ agent }: Sandbox): Promise<MeshPeer> {
    const found = (await this.peers()).find(({ agentId }) => agentId === agent.id);
    return found ?? assert.fail(`${this.name} does not see ${agent.id}`);
  }

  async ask(command: Command): Promise<Answer> {
    this.#child.stdin!.write(`${JSON.stringify(command)}\n`);
    const { value, done } = await this.#lines.next();
    if (done) throw new Error("The program of the sandbox has ended.");
    return JSON.parse(value);
  }

  /** Sends a command as `ask` does, and fails on an error. */
  async tell<Result = unknown>(command: Command): Promise<Result> {
    const answer = await this.ask(command);
    assert.equal(answer.error, undefined, JSON.stringify(answer));
    return answer as Result;
  }

  /** Connects by name as soon as a rule allows it. Resolves to the seconds until the answer. */
  async secondsUntilAnswered({ name: host }: Sandbox, port: number): Promise<number> {
    const began = performance.now();
    const { received } = await this.tell<{ received: string }>({ do: "askSoon", host, port });
    assert.equal(received, HELLO);
    return (performance.now() - began) / 1000;
  }

  /** Sends random bytes to a server that answers with their digest. */
  async sends(to: { host: string; port: number }, bytes: number): Promise<void> {
    const { sent, received } = await this.tell<Sent>({ do: "send", ...to, bytes });
    assert.equal(received.slice(0, 64), sent);
  }

  /**
   * Replaces the process by a new one. The new process has another key, unless the key is in a
   * file.
   */
  async restart(mesh: Mesh): Promise<Sandbox> {
    await this.tell({ do: "close" });
    const { host, agent, setup } = this;
    return await Sandbox.start(mesh, { host, agent, ...setup });
  }

  /** Stops the process until `resume`, as if the machine were suspended. */
  suspend(): void {
    Deno.kill(this.#child.pid!, "SIGSTOP");
  }

  get isSuspended(): boolean {
    return /^State:\tT/m.test(Deno.readTextFileSync(`/proc/${this.#child.pid}/status`));
  }

  resume(): void {
    Deno.kill(this.#child.pid!, "SIGCONT");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.resume();
    this.#child.stdin!.end();
    await this.#ended;
    await succeed("/agent-mesh/peer/remove", {
      as: "operator",
      body: { agent_id: this.agent.id },
    });
  }
}

/** A folder on a host where its program may write. It is removed with the host. */
async function ownFolder({ directory }: Host): Promise<string> {
  const folder = `${directory}/sandbox`;
  await Deno.mkdir(folder);
  await run(["chmod", "711", directory]);
  await run(["chown", "65534:65534", folder]);
  return folder;
}

interface OfAgent {
  readonly agent: Agent;
}

interface Between {
  readonly from: OfAgent;
  readonly to: OfAgent;
  readonly port: number;
  /** Default: tcp. */
  readonly proto?: "tcp" | "udp";
}

/** Adds a rule that is active at once. */
export function allow(rule: Between): Promise<unknown> {
  return succeed("/agent-mesh/acl/put", { as: "operator", body: ruleOf(rule) });
}

/** Revokes a rule as one of its agents. */
export function revokeAs(agent: Agent, rule: Between): Promise<unknown> {
  return succeed("/agent-mesh/acl/revoke", { as: agent, body: ruleOf(rule) });
}

function ruleOf({ from, to, port, proto = "tcp" }: Between) {
  return { from_agent: from.agent.id, to_agent: to.agent.id, port, proto };
}

/** A server on a kernel host. It answers each connection with the SHA-256 of the received bytes. */
export function serveDigests({ host }: Member, port: number): void {
  host.start(
    ["socat", `TCP6-LISTEN:${port},ipv6only=0,fork,reuseaddr`, "SYSTEM:sha256sum"],
    { logName: `digests-${port}` },
  );
}
