import { join } from "node:path";
import { bundleCommandLine } from "../../../dev/clients/bundle.ts";
import { copySources } from "../../../dev/clients/client_sources.ts";
import { PROJECT } from "../../../packages/local/project.ts";
import { agentSettings, EXAMPLES } from "../../mesh_agent/agent_settings.ts";
import { ReferenceAgent } from "../../mesh_agent/reference_agent.ts";
import { eventually } from "../../wireguard/hosts/run_program.ts";
import { type Member, type Mesh, peerField } from "../../wireguard/hosts/mesh_of_hosts.ts";
import type { RelayHost } from "./relay_host.ts";
import { addSite, type Site } from "./sites.ts";

const LOG = "path.log";

/** The command line as it is installed, and the folder that contains it. */
export async function installed(): Promise<AsyncDisposable & { readonly folder: string }> {
  const folder = await Deno.makeTempDir({ prefix: "path-command-" });
  await using sources = await copySources();
  await bundleCommandLine(sources.path, `${folder}/agentfiles`);
  await Deno.chmod(`${folder}/agentfiles`, 0o755);
  const remove = () => Deno.remove(folder, { recursive: true });
  return { folder, [Symbol.asyncDispose]: remove };
}

/** The same command line, run by this Deno with the permissions of `deno task agentfiles`. */
export async function byDeno(folder: string): Promise<string> {
  const own = `${folder}/deno`;
  await Deno.mkdir(own);
  await Deno.copyFile(`${folder}/agentfiles`, `${own}/agentfiles.mjs`);
  const { tasks } = JSON.parse(await Deno.readTextFile(join(PROJECT, "deno.json")));
  const [, rights] = /deno run (.*) "\$ROOT\//.exec(tasks.agentfiles)!;
  const command = `"${Deno.execPath()}" run ${rights} "${own}/agentfiles.mjs"`;
  const script = `#!/bin/sh\nexec ${command} "$@"\n`;
  await Deno.writeTextFile(`${own}/agentfiles`, script, { mode: 0o755 });
  return own;
}

/** The command of the systemd unit, as systemd unescapes it. */
async function unitCommand(): Promise<string> {
  const unit = await Deno.readTextFile(`${EXAMPLES}/mesh-agent/mesh-path.service`);
  const [, command] = /^ExecStart=\/bin\/sh -c '(.*)'$/m.exec(unit)!;
  return command!.replaceAll("$$", "$").replaceAll("%%", "%");
}

/** A kernel host with the reference agent, and `agentfiles mesh path` beside it. */
export class PathHost {
  #child: Deno.ChildProcess | null = null;

  private constructor(
    readonly member: Member,
    readonly meshAgent: ReferenceAgent,
    private readonly command: string,
    private readonly settings: Record<string, string>,
  ) {}

  static async join(
    mesh: Mesh,
    { name, site, folder, stunServer, authority, pollSeconds }: {
      readonly name: string;
      readonly site: Site;
      /** The folder with the command line. */
      readonly folder: string;
      readonly stunServer?: string;
      /** PEM of the authority that signed the relay's certificate. */
      readonly authority: string;
      /** As in ReferenceAgent. */
      readonly pollSeconds?: number | null;
    },
  ): Promise<PathHost> {
    const { host, proxy } = await addSite(mesh.internet, name, site);
    const authorityFile = `${host.directory}/authority.pem`;
    await Deno.writeTextFile(authorityFile, authority);
    const member = await mesh.join(name, { at: host });
    const poll = pollSeconds === undefined ? {} : { pollSeconds };
    const meshAgent = await ReferenceAgent.start(member, { mesh, ...poll });
    return new PathHost(member, meshAgent, await unitCommand(), {
      ...await agentSettings(member),
      CONFIG_DIR: host.directory,
      PATH: `${folder}:${Deno.env.get("PATH")}`,
      NO_COLOR: "1",
      NODE_EXTRA_CA_CERTS: authorityFile,
      ...(proxy !== null && { HTTPS_PROXY: proxy, NO_PROXY: "127.0.0.1,localhost" }),
      ...(stunServer !== undefined && { MESH_PATH_OPTIONS: `--stun-server ${stunServer}` }),
    });
  }

  /** Sets the answer of /relay on this host: the relay's URLs that match. */
  setRelay(relay: RelayHost, matching = /^/): void {
    const { ice_servers: [server], ...answer } = relay.answer();
    const urls = relay.urls.filter((url) => matching.test(url));
    const answers = { "/relay": { ...answer, ice_servers: [{ ...server, urls }] } };
    this.meshAgent.door.replaceAnswers(answers);
  }

  /** Starts the command as the unit does. */
  start(): void {
    this.#child = this.#run();
  }

  /** Starts another command beside the running one. Resolves to its exit code. */
  async startAnother(): Promise<number> {
    return (await this.#run().status).code;
  }

  #run(): Deno.ChildProcess {
    const command = ["/bin/sh", "-c", this.command];
    return this.member.host.start(command, { logName: LOG, env: this.settings });
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

  /** The file through which the command informs the agent. Null if it does not exist. */
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
