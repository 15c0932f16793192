import { eventually, run, runAnyhow } from "./command.ts";

let internets = 0;

interface StartOptions {
  readonly logName: string;
  readonly env?: Record<string, string>;
}

/** A host on the test's internet: a network namespace. */
export class Host implements AsyncDisposable {
  readonly #children: Deno.ChildProcess[] = [];

  /** `address` is where the others reach it; null behind NAT. */
  constructor(
    readonly namespace: string,
    readonly address: string | null,
    /** Private to this host; removed with it. */
    readonly directory: string,
  ) {}

  run(command: readonly string[], options: { input?: string } = {}): Promise<string> {
    return run(this.#inside(command), options);
  }

  runAnyhow(command: readonly string[], options: { input?: string } = {}) {
    return runAnyhow(this.#inside(command), options);
  }

  /** Starts a program that runs on; what it writes goes to `directory`/`logName`. */
  start(command: readonly string[], options: StartOptions): Deno.ChildProcess {
    return this.startOutside(this.#inside(command), options);
  }

  /** As `start`, but in the namespace of the tests, for what this host borrows from there. */
  startOutside(
    command: readonly string[],
    { logName, env = {} }: StartOptions,
  ): Deno.ChildProcess {
    const child = new Deno.Command("sh", {
      args: ["-c", 'exec "$@" >>"$0" 2>&1', `${this.directory}/${logName}`, ...command],
      env,
      stdin: "null",
    }).spawn();
    this.#children.push(child);
    return child;
  }

  /** What a started program wrote so far. */
  readLog(logName: string): Promise<string> {
    return Deno.readTextFile(`${this.directory}/${logName}`).catch(() => "");
  }

  /** Makes `name` resolve to `address` here; every other name stays unknown. */
  async resolve(name: string, address: string): Promise<void> {
    await Deno.writeTextFile(`/etc/netns/${this.namespace}/hosts`, `${address} ${name}\n`, {
      append: true,
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // wireguard-go ends with its interface; killed, it would leave its socket in /run/wireguard.
    const links = JSON.parse((await this.runAnyhow(["ip", "-j", "link"])).output || "[]");
    for (const { ifname } of links as { ifname: string }[]) {
      if (ifname !== "lo") await this.runAnyhow(["ip", "link", "delete", ifname]);
    }
    const { output } = await runAnyhow(["ip", "netns", "pids", this.namespace]);
    const pids = output.split("\n").filter((pid) => pid !== "").map(Number);
    for (const pid of [...pids, ...this.#children.map(({ pid }) => pid)]) kill(pid);
    await Promise.all(this.#children.map((child) => child.status));
    await runAnyhow(["ip", "netns", "delete", this.namespace]);
    await removeIfThere(`/etc/netns/${this.namespace}`);
    await removeIfThere(this.directory);
  }

  #inside(command: readonly string[]): string[] {
    return ["ip", "netns", "exec", this.namespace, ...command];
  }
}

/** A router, and hosts around it that reach each other through it and nothing else. */
export class Internet implements AsyncDisposable {
  readonly #hosts: Host[] = [];
  #links = 0;

  /** `id` is unique on this machine while it runs, and short enough to begin interface names. */
  private constructor(readonly id: string, readonly router: Host) {
    this.#hosts.push(router);
  }

  static async create(): Promise<Internet> {
    internets += 1;
    const id = `m${Deno.pid.toString(36)}${internets.toString(36)}`;
    const router = await createHost(`${id}-router`, null);
    await router.run(["sysctl", "-qw", "net.ipv4.ip_forward=1"]);
    return new Internet(id, router);
  }

  async addHost(name: string): Promise<Host> {
    const address = this.#nextAddress();
    const host = await createHost(`${this.id}-${name}`, address.host);
    this.#hosts.push(host);
    await connect(host, this.router, address);
    return host;
  }

  /** A host behind a router of its own that masquerades: it reaches the others, they not it. */
  async addHostBehindNat(name: string): Promise<Host> {
    const nat = await this.addHost(`${name}-nat`);
    await nat.run(["nft", "-f", "-"], { input: MASQUERADE });
    return this.addHostBehind(nat, name);
  }

  /** A host at 192.168.77.2 that only `router` is linked to, which forwards for it. */
  async addHostBehind(router: Host, name: string): Promise<Host> {
    const host = await createHost(`${this.id}-${name}`, null);
    this.#hosts.push(host);
    await connect(host, router, { host: "192.168.77.2", gateway: "192.168.77.1", link: "inside" });
    await router.run(["sysctl", "-qw", "net.ipv4.ip_forward=1"]);
    return host;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const host of this.#hosts.toReversed()) await host[Symbol.asyncDispose]();
  }

  #nextAddress() {
    const first = this.#links * 4;
    this.#links += 1;
    return {
      host: `198.51.100.${first + 2}`,
      gateway: `198.51.100.${first + 1}`,
      link: `to${this.#links}`,
    };
  }
}

const MASQUERADE = `table ip nat {
  chain postrouting {
    type nat hook postrouting priority srcnat;
    oifname "uplink" masquerade
  }
  chain forward {
    type filter hook forward priority filter; policy drop;
    iifname "inside" accept
    ct state established,related accept
  }
}
`;

async function createHost(namespace: string, address: string | null): Promise<Host> {
  const directory = await Deno.makeTempDir({ prefix: `${namespace}-` });
  const host = new Host(namespace, address, directory);
  await Deno.mkdir(`/etc/netns/${namespace}`, { recursive: true });
  await host.resolve("localhost", "127.0.0.1");
  // Nobody answers there, as when a resolver is out of reach.
  await Deno.writeTextFile(`/etc/netns/${namespace}/resolv.conf`, "nameserver 192.0.2.53\n");
  await run(["ip", "netns", "add", namespace]);
  await host.run(["ip", "link", "set", "lo", "up"]);
  return host;
}

async function connect(
  host: Host,
  router: Host,
  at: { host: string; gateway: string; link: string },
): Promise<void> {
  const ends = ["veth", "peer", "name", at.link, "netns", router.namespace];
  await host.run(["ip", "link", "add", "uplink", "type", ...ends]);
  await host.run(["ip", "address", "add", `${at.host}/30`, "dev", "uplink"]);
  await host.run(["ip", "link", "set", "uplink", "up"]);
  await router.run(["ip", "address", "add", `${at.gateway}/30`, "dev", at.link]);
  await router.run(["ip", "link", "set", at.link, "up"]);
  await host.run(["ip", "route", "add", "default", "via", at.gateway]);
}

function kill(pid: number): void {
  try {
    Deno.kill(pid, "SIGKILL");
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}

async function removeIfThere(path: string): Promise<void> {
  await Deno.remove(path, { recursive: true }).catch((error) => {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  });
}

/** Waits until something listens on `port` of `host`. */
export async function untilListening(
  host: Host,
  { proto, port }: { proto: "tcp" | "udp"; port: number },
): Promise<void> {
  const command = ["ss", "-Hln", proto === "tcp" ? "-t" : "-u", "sport", "=", `:${port}`];
  await eventually(`${proto} port ${port} of ${host.namespace} is open`, {
    withinSeconds: 10,
    condition: async () => (await host.run(command)).includes(`:${port}`),
  });
}
