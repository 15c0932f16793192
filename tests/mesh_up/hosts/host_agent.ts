import { eventually } from "../../wireguard/hosts/run_program.ts";
import type { Host } from "../../wireguard/hosts/host.ts";
import { type Member, type Mesh, putRule, TCP_443 } from "../../wireguard/hosts/mesh_of_hosts.ts";
import { untilPingAnswered } from "../../wireguard/hosts/probes.ts";
import { ServiceDoor } from "../../wireguard/hosts/service_door.ts";
import { agentSettings, runDirectoryOf } from "./settings.ts";
import { commandLine, PROGRAM } from "./command_line.ts";

const LOG = "agent.log";
const SECOND_AGENT_SECONDS = 180;

/** `agentfiles mesh up` on a member's host. It reaches the service through its own door. */
export class HostAgent {
  #process: Deno.ChildProcess | null = null;

  private constructor(
    readonly member: Member,
    readonly door: ServiceDoor,
    private readonly started: {
      readonly mesh: Mesh;
      readonly settings: Record<string, string>;
      readonly pollSeconds: number | null;
      readonly before: readonly string[];
      readonly args: readonly string[];
      readonly seeksPaths: boolean;
      readonly program: readonly string[];
    },
  ) {}

  /**
   * Starts the agent, and returns when its tunnel is up. The agent ends with `mesh`. With
   * `pollSeconds` null, it sends heartbeats as often as the service asks. With a value below 3, its
   * heartbeats do not wait.
   */
  static async start(
    member: Member,
    {
      mesh,
      pollSeconds = 2,
      configDir = member.host.directory,
      before = [],
      args = [],
      seeksPaths = false,
      program = PROGRAM,
      environment = {},
    }: {
      mesh: Mesh;
      pollSeconds?: number | null;
      configDir?: string;
      /** A command that runs the agent. */
      before?: readonly string[];
      /** Further arguments of `mesh up`. */
      args?: readonly string[];
      /** Whether it punches holes, or uses a relay. */
      seeksPaths?: boolean;
      /** The command that runs `agentfiles`. */
      program?: readonly string[];
      environment?: Readonly<Record<string, string>>;
    },
  ): Promise<HostAgent> {
    const { origin } = mesh.deployment;
    const door = mesh.attach(await ServiceDoor.open(member.host, { origin }));
    const settings = { ...await agentSettings(member), CONFIG_DIR: configDir, ...environment };
    const meshAgent = new HostAgent(member, door, {
      mesh,
      settings,
      pollSeconds,
      before,
      args,
      seeksPaths,
      program,
    });
    meshAgent.restart();
    await meshAgent.untilApplied();
    return meshAgent;
  }

  restart(
    { pollSeconds = this.started.pollSeconds, environment = {} }: {
      pollSeconds?: number | null;
      environment?: Record<string, string>;
    } = {},
  ): void {
    this.#process = this.#start({ logName: LOG, pollSeconds, environment });
  }

  /**
   * Runs a second agent on the same host and interface, until it ends or the time limit ends it.
   */
  async runSecond(
    environment: Record<string, string> = {},
    args: readonly string[] = [],
  ): Promise<{ code: number; log: string }> {
    const logName = "second-agent.log";
    const { pollSeconds } = this.started;
    const second = this.#start({ logName, pollSeconds, environment, args });
    const limit = setTimeout(() => second.kill("SIGKILL"), SECOND_AGENT_SECONDS * 1000);
    const { code } = await second.status.finally(() => clearTimeout(limit));
    return { code, log: await this.member.host.readLog(logName) };
  }

  #start(
    { logName, pollSeconds, environment, args = [] }: {
      logName: string;
      pollSeconds: number | null;
      environment: Record<string, string>;
      args?: readonly string[];
    },
  ): Deno.ChildProcess {
    const poll = pollSeconds === null ? {} : { POLL_SECONDS: String(pollSeconds) };
    const settings = { ...this.started.settings, ...poll, ...environment };
    const { program, seeksPaths, args: given } = this.started;
    const { command, env } = commandLine(settings, {
      args: [...given, ...args],
      program,
      seeksPaths,
    });
    return this.member.host.start([...this.started.before, ...command], {
      logName,
      env: { ...env },
    });
  }

  /** Ends only the agent, not the processes that it started. Returns its exit code. */
  async stop(signal: "SIGTERM" | "SIGKILL"): Promise<number | undefined> {
    this.#process?.kill(signal);
    return (await this.#process?.status)?.code;
  }

  /** Sends SIGTERM repeatedly until the agent has ended. Returns its exit code. */
  async stopImpatiently(): Promise<number | undefined> {
    const repeated = setInterval(() => {
      try {
        this.#process?.kill("SIGTERM");
      } catch {
        // The agent has ended, and its status arrives soon.
      }
    }, 20);
    return await this.stop("SIGTERM").finally(() => clearInterval(repeated));
  }

  /** Stops heartbeats and fetches until `resume`. The tunnel stays. */
  pause(): void {
    this.#process?.kill("SIGSTOP");
  }

  resume(): void {
    this.#process?.kill("SIGCONT");
  }

  readLog(): Promise<string> {
    return this.member.host.readLog(LOG);
  }

  /**
   * Waits until the agent has logged that it applied the configuration that the service has now.
   */
  async untilApplied(): Promise<void> {
    const { agent } = this.member;
    const { deployment } = this.started.mesh;
    let due: number | undefined;
    await eventually(`${agent.id} has applied its configuration`, {
      condition: async () => {
        const { config_version } = await deployment.ask<{ config_version: number }>(
          "/agent-mesh/netmap",
          { as: agent },
        );
        due = config_version;
        return (await this.readLog()).includes(`config_version ${due} is applied`);
      },
    }).catch(async (error) => {
      const log = await this.readLog();
      throw new Error(`${error.message} It is ${due}. The agent's log:\n${log}`, { cause: error });
    });
  }

  /** Gives the host another private key, which the agent will notice. Returns the public key. */
  async replacePrivateKey(): Promise<string> {
    const { host, interfaceName } = this.member;
    const privateKey = await host.run(["wg", "genkey"]);
    await Deno.writeTextFile(`${host.directory}/${interfaceName}.key`, privateKey);
    return await host.run(["wg", "pubkey"], { input: privateKey });
  }

  async untilRunsWith(publicKey: string): Promise<void> {
    const { agent, host, interfaceName } = this.member;
    await eventually(`${agent.id} runs with its new key`, {
      condition: async () => {
        const shown = await host.runAnyhow(["wg", "show", interfaceName, "public-key"]);
        return shown.output.trim() === publicKey.trim();
      },
    });
  }

  /** The folder of the agent's working files. */
  get runDirectory(): string {
    return runDirectoryOf(this.member.host);
  }

  /** The configuration that runs. */
  get configurationFile(): string {
    return `${this.runDirectory}/${this.member.interfaceName}.json`;
  }

  /** Files in the agent's folder whose names begin with a dot, like its working files. */
  hiddenFiles(): string[] {
    return [...Deno.readDirSync(this.runDirectory)].map(({ name }) => name)
      .filter((name) => name.startsWith(".")).toSorted();
  }
}

/**
 * Joins alice and bob with `mesh up` and a rule alice → bob tcp 443, and waits until they
 * are connected.
 */
export async function joinWithAgents(
  mesh: Mesh,
  { behindNat = false, pollSeconds = 2 }: {
    behindNat?: boolean;
    pollSeconds?: number | null;
  } = {},
): Promise<Record<"alice" | "bob", Member & { meshAgent: HostAgent }>> {
  const [alice, bob] = [await mesh.join("alice", { behindNat }), await mesh.join("bob")];
  await putRule({ from: alice, to: bob, ...TCP_443 });
  const joined = {
    alice: { ...alice, meshAgent: await HostAgent.start(alice, { mesh, pollSeconds }) },
    bob: { ...bob, meshAgent: await HostAgent.start(bob, { mesh, pollSeconds }) },
  };
  await untilPingAnswered(alice.host, { address: bob.ipv4 }).catch(async (error) => {
    const states = [await stateOf(joined.alice), await stateOf(joined.bob)];
    throw new Error([error.message, ...states].join("\n"), { cause: error });
  });
  return joined;
}

/** The agent's log and the state of its tunnel, for the message of a failure. */
async function stateOf(
  { host, interfaceName, meshAgent }: Member & { readonly meshAgent: HostAgent },
): Promise<string> {
  return `${host.namespace}:\n${await meshAgent.readLog()}` +
    (await host.runAnyhow(["wg", "show", interfaceName])).output;
}

/** Waits until the service holds a waiting heartbeat of the host's agent. */
export async function untilWaiting({ host }: { host: Host }, door: ServiceDoor): Promise<void> {
  await eventually(`the agent of ${host.namespace} waits`, {
    condition: () => Promise.resolve(door.waits.length > door.waitsAnswered),
  });
}

export async function printSecondsUntil(
  what: string,
  condition: () => Promise<boolean>,
): Promise<void> {
  const began = performance.now();
  await eventually(what, { condition });
  console.log(`${what}: ${((performance.now() - began) / 1000).toFixed(1)} s`);
}

/** Makes all further requests of this host hang. */
export async function hangRequests(host: Host): Promise<void> {
  await host.run(["nft", "-f", "-"], {
    input: `table inet silence {
      chain output { type filter hook output priority filter; oifname "lo" drop; }
    }`,
  });
}

export async function letRequestsPass(host: Host): Promise<void> {
  await host.run(["nft", "delete", "table", "inet", "silence"]);
}
