import { join } from "node:path";
import { PROJECT } from "../../../packages/local/project.ts";
import { PROGRAM } from "../../mesh_up/hosts/command_line.ts";
import { HostAgent } from "../../mesh_up/hosts/host_agent.ts";
import { eventually } from "../../wireguard/hosts/run_program.ts";
import { type Member, type Mesh, peerField } from "../../wireguard/hosts/mesh_of_hosts.ts";
import type { RelayHost } from "./relay_host.ts";
import { addSite, type Site } from "./sites.ts";

/** `agentfiles` run by this Deno, with the permissions of `deno task agentfiles`. */
async function byDeno(): Promise<string[]> {
  const { tasks } = JSON.parse(await Deno.readTextFile(join(PROJECT, "deno.json")));
  const [, rights] = /deno run (.*) "\$ROOT\//.exec(tasks.agentfiles.command)!;
  return [Deno.execPath(), "run", ...rights!.split(" "), ...PROGRAM.slice(1)];
}

/** A kernel host, where `agentfiles mesh up` also seeks paths. */
export class PathHost {
  private constructor(
    readonly member: Member,
    readonly meshAgent: HostAgent,
  ) {}

  static async join(
    mesh: Mesh,
    { name, site, stunServer, authority, pollSeconds, isByDeno = false }: {
      readonly name: string;
      readonly site: Site;
      readonly stunServer?: string;
      /** PEM of the authority that signed the relay's certificate. */
      readonly authority: string;
      /** As in HostAgent. */
      readonly pollSeconds?: number | null;
      /** Whether Deno instead of Node runs the command. */
      readonly isByDeno?: boolean;
    },
  ): Promise<PathHost> {
    const { host, proxy } = await addSite(mesh.internet, name, site);
    const authorityFile = `${host.directory}/authority.pem`;
    await Deno.writeTextFile(authorityFile, authority);
    const member = await mesh.join(name, { at: host });
    const meshAgent = await HostAgent.start(member, {
      mesh,
      seeksPaths: true,
      args: stunServer === undefined ? [] : ["--stun-server", stunServer],
      environment: {
        NODE_EXTRA_CA_CERTS: authorityFile,
        ...(proxy !== null && { HTTPS_PROXY: proxy, NO_PROXY: "127.0.0.1,localhost" }),
      },
      ...(pollSeconds !== undefined && { pollSeconds }),
      ...(isByDeno && { program: await byDeno() }),
    });
    return new PathHost(member, meshAgent);
  }

  /** Sets the answer of /relay on this host: the relay's URLs that match. */
  setRelay(relay: RelayHost, matching = /^/): void {
    const { ice_servers: [server], ...answer } = relay.answer();
    const urls = relay.urls.filter((url) => matching.test(url));
    const answers = { "/relay": { ...answer, ice_servers: [{ ...server, urls }] } };
    this.meshAgent.door.replaceAnswers(answers);
  }

  async endpointOf({ member: peer }: PathHost): Promise<string | undefined> {
    return await peerField(this.member, { peer, field: "endpoints" });
  }

  /** The file through which the part that seeks paths informs the agent. */
  async hasStateFile(): Promise<boolean> {
    const file = `${this.meshAgent.runDirectory}/${this.member.interfaceName}.path`;
    return await Deno.stat(file).then(() => true, () => false);
  }

  async udpPorts(): Promise<string> {
    return await this.member.host.run(["ss", "-Hlnup"]);
  }

  async untilLogged(text: string | RegExp): Promise<void> {
    await eventually(`${this.member.host.namespace} says ${text}`, {
      condition: async () => new RegExp(text).test(await this.meshAgent.readLog()),
    }).catch(async (error) => {
      throw new Error(`${error.message}\n${await this.meshAgent.readLog()}`);
    });
  }
}
