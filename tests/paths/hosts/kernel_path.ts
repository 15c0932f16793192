import { bundleCommandLine } from "../../../dev/clients/bundle.ts";
import { copySources } from "../../../dev/clients/client_sources.ts";
import { ReferenceAgent } from "../../mesh_agent/reference_agent.ts";
import { eventually } from "../../wireguard/hosts/command.ts";
import { type Member, type Mesh, peerField } from "../../wireguard/hosts/mesh_of_hosts.ts";
import { SERVICE_ORIGIN } from "../../wireguard/hosts/service_door.ts";
import type { RelayHost } from "./relay_host.ts";
import { addSite, type Site } from "./sites.ts";

const LOG = "path.log";

/** The command line as it is installed. */
export async function installed(): Promise<AsyncDisposable & { readonly program: string }> {
  const folder = await Deno.makeTempDir({ prefix: "path-command-" });
  await using sources = await copySources();
  await bundleCommandLine(sources.path, `${folder}/agentfiles`);
  const remove = () => Deno.remove(folder, { recursive: true });
  return { program: `${folder}/agentfiles`, [Symbol.asyncDispose]: remove };
}

/** A kernel's host with the reference agent, and with `agentfiles mesh path` beside it. */
export class PathHost {
  #child: Deno.ChildProcess | null = null;

  private constructor(
    readonly member: Member,
    readonly meshAgent: ReferenceAgent,
    private readonly command: readonly string[],
  ) {}

  static async join(
    mesh: Mesh,
    { name, site, program, stunServer }: {
      readonly name: string;
      readonly site: Site;
      readonly program: string;
      readonly stunServer?: string;
    },
  ): Promise<PathHost> {
    const { host } = await addSite(mesh.internet, name, site);
    const member = await mesh.join(name, { at: host });
    const meshAgent = await ReferenceAgent.start(member, { mesh });
    const options = [
      ...["--interface", member.interfaceName, "--config-dir", host.directory],
      ...(stunServer === undefined ? [] : ["--stun-server", stunServer]),
    ];
    return new PathHost(member, meshAgent, ["node", program, "mesh", "path", ...options]);
  }

  /** What /relay answers here. */
  setRelay(relay: RelayHost): void {
    this.meshAgent.door.replaceAnswers({ "/relay": relay.answer() });
  }

  start(): void {
    const { host, agent } = this.member;
    const env = { AGENT_URL: SERVICE_ORIGIN, AGENT_KEY: agent.key, NO_COLOR: "1" };
    this.#child = host.start(this.command, { logName: LOG, env });
  }

  async stop(signal: "SIGTERM" | "SIGKILL"): Promise<number> {
    this.#child!.kill(signal);
    return (await this.#child!.status).code;
  }

  readLog(): Promise<string> {
    return this.member.host.readLog(LOG);
  }

  async endpointOf({ member: peer }: PathHost): Promise<string | undefined> {
    return await peerField(this.member, { peer, field: "endpoints" });
  }

  /** The file in which the agent reads what the command does; null if there is none. */
  async stateFile(): Promise<string | null> {
    const { host, interfaceName } = this.member;
    return await Deno.readTextFile(`${host.directory}/${interfaceName}.path`).catch(() => null);
  }

  async udpPorts(): Promise<string> {
    return await this.member.host.run(["ss", "-Hlnup"]);
  }

  async untilLogged(text: string | RegExp): Promise<void> {
    await this.#untilIn(() => this.readLog(), text);
  }

  async untilAgentLogged(text: string | RegExp): Promise<void> {
    await this.#untilIn(() => this.meshAgent.readLog(), text);
  }

  async #untilIn(read: () => Promise<string>, text: string | RegExp): Promise<void> {
    await eventually(`${this.member.host.namespace} says ${text}`, {
      condition: async () => new RegExp(text).test(await read()),
    }).catch(async (error) => {
      throw new Error(
        `${error.message}\n${await this.readLog()}\n${await this.meshAgent.readLog()}`,
      );
    });
  }
}
