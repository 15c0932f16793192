import { succeed } from "../conformance/client.ts";
import { eventually } from "./command.ts";
import { untilListening } from "./host.ts";
import { type Member, type Mesh, putRule, TUNNEL_PORT } from "./mesh_of_hosts.ts";
import { ServiceDoor } from "./service_door.ts";

export const SCRIPT = new URL("../../examples/mesh-agent/mesh-agent.sh", import.meta.url).pathname;
const DOOR_PORT = 8000;
const LOG = "agent.log";
const SECOND_AGENT_SECONDS = 10;

/** examples/mesh-agent on a member's host, where it reaches the service by a door of its own. */
export class ExampleAgent implements AsyncDisposable {
  #process: Deno.ChildProcess | null = null;

  private constructor(
    readonly member: Member,
    readonly door: ServiceDoor,
    readonly pollSeconds: number,
  ) {}

  /** Its tunnel is up when this returns; it ends with `mesh`. */
  static async start(
    member: Member,
    { mesh, pollSeconds = 2 }: { mesh: Mesh; pollSeconds?: number },
  ): Promise<ExampleAgent> {
    const { host, agent } = member;
    const socket = `${host.directory}/service.sock`;
    const example = new ExampleAgent(member, ServiceDoor.open(socket), pollSeconds);
    mesh.attach(example);
    const listener = `TCP-LISTEN:${DOOR_PORT},bind=127.0.0.1,fork,reuseaddr`;
    host.start(["socat", listener, `UNIX-CONNECT:${socket}`], { logName: "relay" });
    await untilListening(host, { proto: "tcp", port: DOOR_PORT });
    await Deno.writeTextFile(`${host.directory}/agent-key`, `${agent.key}\n`, { mode: 0o600 });
    example.restart();
    await example.untilApplied();
    return example;
  }

  /** As often as the service asks: `pollSeconds` null. */
  restart({ pollSeconds = this.pollSeconds }: { pollSeconds?: number | null } = {}): void {
    this.#process = this.#start({ logName: LOG, pollSeconds });
  }

  /** One more on the same host, for the same interface, until it ends by itself or the limit ends it. */
  async runSecond(): Promise<{ code: number; log: string }> {
    const logName = "second-agent.log";
    const second = this.#start({ logName, pollSeconds: this.pollSeconds });
    const limit = setTimeout(() => second.kill("SIGKILL"), SECOND_AGENT_SECONDS * 1000);
    const { code } = await second.status.finally(() => clearTimeout(limit));
    return { code, log: await this.member.host.readLog(logName) };
  }

  #start(
    { logName, pollSeconds }: { logName: string; pollSeconds: number | null },
  ): Deno.ChildProcess {
    const { host, agent, interfaceName } = this.member;
    return host.start([SCRIPT], {
      logName,
      env: {
        MESH_URL: `http://127.0.0.1:${DOOR_PORT}/functions/v1/agent-mesh`,
        AGENT_ID: agent.id,
        AGENT_KEY_FILE: `${host.directory}/agent-key`,
        INTERFACE: interfaceName,
        CONFIG_DIR: host.directory,
        ...(pollSeconds === null ? {} : { POLL_SECONDS: String(pollSeconds) }),
        ...(host.address === null ? {} : { ENDPOINT: `${host.address}:${TUNNEL_PORT}` }),
      },
    });
  }

  /** Ends the agent alone, not what it started; returns its exit code. */
  async stop(signal: "SIGTERM" | "SIGKILL"): Promise<number | undefined> {
    this.#process?.kill(signal);
    return (await this.#process?.status)?.code;
  }

  /** SIGTERM again and again until it has ended; returns its exit code. */
  async stopImpatiently(): Promise<number | undefined> {
    const repeated = setInterval(() => this.#process?.kill("SIGTERM"), 20);
    return await this.stop("SIGTERM").finally(() => clearInterval(repeated));
  }

  /** From now on it neither sends heartbeats nor fetches, until `resume`. Its tunnel stays. */
  pause(): void {
    this.#process?.kill("SIGSTOP");
  }

  resume(): void {
    this.#process?.kill("SIGCONT");
  }

  readLog(): Promise<string> {
    return this.member.host.readLog(LOG);
  }

  /** Waits until the agent has said that it runs what the service has for it now. */
  async untilApplied(): Promise<void> {
    const { agent } = this.member;
    await eventually(`${agent.id} has applied its configuration`, {
      withinSeconds: 20,
      condition: async () => {
        const { config_version } = await succeed<{ config_version: number }>("/agent-mesh/netmap", {
          as: agent,
        });
        return (await this.readLog()).includes(`config_version ${config_version} is applied`);
      },
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.door[Symbol.asyncDispose]();
  }
}

/** alice and bob, who agreed on alice → bob tcp 443, both running the example agent. */
export async function joinWithAgents(
  mesh: Mesh,
  { behindNat = false, pollSeconds = 2 }: { behindNat?: boolean; pollSeconds?: number } = {},
): Promise<Record<"alice" | "bob", Member & { example: ExampleAgent }>> {
  const [alice, bob] = [await mesh.join("alice", { behindNat }), await mesh.join("bob")];
  await putRule({ from: alice, to: bob, proto: "tcp", port: 443 });
  return {
    alice: { ...alice, example: await ExampleAgent.start(alice, { mesh, pollSeconds }) },
    bob: { ...bob, example: await ExampleAgent.start(bob, { mesh, pollSeconds }) },
  };
}
