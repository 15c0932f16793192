import { eventually, run, runAnyhow } from "./run_program.ts";

/** The folder where a host's programs keep the sockets through which wg talks to wireguard-go. */
const SOCKETS = "/run/wireguard";

/** A host on the test's internet: a network namespace. */
export class Host implements AsyncDisposable {
  readonly #children: Deno.ChildProcess[] = [];

  private constructor(
    readonly namespace: string,
    /** The address where other hosts reach it. Null behind NAT or a firewall. */
    readonly address: string | null,
    /** A private folder of this host. It is removed with the host. */
    readonly directory: string,
  ) {}

  static async create(namespace: string, address: string | null): Promise<Host> {
    const directory = await Deno.makeTempDir({ prefix: `${namespace}-` });
    const host = new Host(namespace, address, directory);
    await Deno.mkdir(host.wireguardDirectory, { recursive: true, mode: 0o700 });
    await Deno.mkdir(host.#sockets);
    await Deno.mkdir(SOCKETS, { recursive: true });
    await host.resolve("localhost", "127.0.0.1");
    await host.setResolverOptions("");
    await run(["ip", "netns", "add", namespace]);
    await host.run(["ip", "link", "set", "lo", "up"]);
    return host;
  }

  /** The folder that the host's programs see as /etc/wireguard (through `ip netns exec`). */
  get wireguardDirectory(): string {
    return `/etc/netns/${this.namespace}/wireguard`;
  }

  /** The endpoint where other hosts reach a port of this one. Null if `address` is null. */
  endpointAt(port: number): string | null {
    if (this.address === null) return null;
    return this.address.includes(":") ? `[${this.address}]:${port}` : `${this.address}:${port}`;
  }

  /**
   * The command that runs its arguments on this host. Every host has its own folder for sockets. In
   * a shared folder, `wg show` would remove a socket on which nothing listens yet, and so end a
   * wireguard-go that another host is starting.
   */
  get enter(): readonly string[] {
    const script = `mount --bind "$0" ${SOCKETS} && exec "$@"`;
    return ["ip", "netns", "exec", this.namespace, "sh", "-c", script, this.#sockets];
  }

  run(command: readonly string[], options: { input?: string } = {}): Promise<string> {
    return run([...this.enter, ...command], options);
  }

  runAnyhow(command: readonly string[], options: { input?: string } = {}) {
    return runAnyhow([...this.enter, ...command], options);
  }

  /** Starts a program in the background. Its output goes to `directory`/`logName`. */
  start(
    command: readonly string[],
    { logName, env = {} }: { logName: string; env?: Record<string, string> },
  ): Deno.ChildProcess {
    const logFile = `${this.directory}/${logName}`;
    const child = new Deno.Command("sh", {
      args: ["-c", 'exec "$@" >>"$0" 2>&1', logFile, ...this.enter, ...command],
      env,
      stdin: "null",
    }).spawn();
    this.#children.push(child);
    return child;
  }

  /** The output of a started program so far. */
  readLog(logName: string): Promise<string> {
    return Deno.readTextFile(`${this.directory}/${logName}`).catch(() => "");
  }

  /** The running processes: one line per process, with its arguments. */
  async processes(): Promise<string> {
    const script =
      'for pid in $(ip netns pids "$0"); do tr "\\0" " " </proc/$pid/cmdline; echo; done 2>/dev/null';
    return await this.run(["sh", "-c", script, this.namespace]);
  }

  /** Sets an unreachable resolver with these `options` of resolv.conf. */
  async setResolverOptions(options: string): Promise<void> {
    const lines = `nameserver 192.0.2.53\noptions ${options}\n`;
    await Deno.writeTextFile(`/etc/netns/${this.namespace}/resolv.conf`, lines);
  }

  /** Makes `name` resolve to `address` on this host. Other names stay unknown. */
  async resolve(name: string, address: string): Promise<void> {
    await Deno.writeTextFile(`/etc/netns/${this.namespace}/hosts`, `${address} ${name}\n`, {
      append: true,
    });
  }

  /** Like `resolve`, but replaces the earlier address of `name`. */
  async resolveAnew(name: string, address: string): Promise<void> {
    const path = `/etc/netns/${this.namespace}/hosts`;
    const lines = (await Deno.readTextFile(path)).split("\n");
    const others = lines.filter((line) => !line.endsWith(` ${name}`));
    await Deno.writeTextFile(path, `${address} ${name}\n${others.join("\n")}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const child of this.#children) endProcess(() => child.kill("SIGKILL"));
    await Promise.all(this.#children.map((child) => child.status));
    // Some of the ended programs have started others.
    await eventually(`${this.namespace} runs nothing`, {
      condition: () => this.#endProcesses(),
    });
    await runAnyhow(["ip", "netns", "delete", this.namespace]);
    await removeIfThere(`/etc/netns/${this.namespace}`);
    await removeIfThere(this.#sockets);
    await removeIfThere(this.directory);
  }

  /** Kills every process of the namespace. Resolves to whether there were none. */
  async #endProcesses(): Promise<boolean> {
    const { output } = await runAnyhow(["ip", "netns", "pids", this.namespace]);
    const pids = output.split("\n").filter((pid) => pid !== "");
    for (const pid of pids) endProcess(() => Deno.kill(Number(pid), "SIGKILL"));
    return pids.length === 0;
  }

  get #sockets(): string {
    return `${this.directory}-sockets`;
  }
}

/** Waits until something listens on `port` of `host`. */
export async function untilListening(
  host: Host,
  { proto, port }: { proto: "tcp" | "udp"; port: number },
): Promise<void> {
  const command = ["ss", "-Hln", proto === "tcp" ? "-t" : "-u", "sport", "=", `:${port}`];
  await eventually(`${proto} port ${port} of ${host.namespace} is open`, {
    condition: async () => (await host.run(command)).includes(`:${port}`),
  });
}

/** Creates a folder with links to all programs of this machine except one, to use as PATH. */
export async function linkProgramsBut(missing: string, directory: string): Promise<string> {
  const folder = `${directory}/programs`;
  const script = `mkdir "$0"; for program in /usr/sbin/* /usr/bin/* /sbin/* /bin/*; do
    [ "\${program##*/}" = "$1" ] || ln -sf "$program" "$0"
  done`;
  await run(["sh", "-c", script, folder, missing]);
  return folder;
}

/** If the process has ended, Deno throws NotFound, or TypeError for its own child. Ignore both. */
function endProcess(kill: () => void): void {
  try {
    kill();
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound || error instanceof TypeError)) throw error;
  }
}

async function removeIfThere(path: string): Promise<void> {
  await Deno.remove(path, { recursive: true }).catch((error) => {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  });
}
