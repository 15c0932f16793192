import { createInterface } from "node:readline";
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { run } from "../../wireguard/hosts/command.ts";
import type { Host } from "../../wireguard/hosts/host.ts";
import type { PeerConfiguration } from "../../../clients/typescript/src/mesh/wireguard/tunnel.ts";
import type { Command, State } from "./commands.ts";

const PROGRAM = fileURLToPath(new URL("./peer_program.ts", import.meta.url));
const CONFIG = fileURLToPath(new URL("../../../deno.json", import.meta.url));

export type Runtime = "deno" | "node";

export interface KeyPair {
  readonly privateKey: string;
  readonly publicKey: string;
}

export async function newKeyPair(): Promise<KeyPair> {
  const privateKey = (await run(["wg", "genkey"])).trim();
  const publicKey = (await run(["wg", "pubkey"], { input: privateKey })).trim();
  return { privateKey, publicKey };
}

/** The peer program in a namespace, as the user `nobody` without any capability. */
export class SandboxPeer implements AsyncDisposable {
  readonly #child: ReturnType<typeof spawn>;
  readonly #lines: AsyncIterator<string>;
  readonly #ended: Promise<unknown>;

  private constructor(
    readonly host: Host,
    readonly inner: string,
    readonly keys: KeyPair,
    command: readonly string[],
  ) {
    const unprivileged = [
      "setpriv",
      "--reuid=65534",
      "--regid=65534",
      "--clear-groups",
    ];
    const limits = ["--bounding-set=-all", "--inh-caps=-all", "--no-new-privs"];
    this.#child = spawn(
      "ip",
      ["netns", "exec", host.namespace, ...unprivileged, ...limits, ...command],
      {
        stdio: ["pipe", "pipe", "inherit"],
        env: { PATH: Deno.env.get("PATH") ?? "" },
      },
    );
    this.#lines = createInterface({ input: this.#child.stdout! })
      [Symbol.asyncIterator]();
    this.#ended = new Promise((resolve) => this.#child.on("close", resolve));
  }

  static async start(
    host: Host,
    { inner, runtime = "deno", keys }: {
      readonly inner: string;
      readonly runtime?: Runtime;
      readonly keys?: KeyPair;
    },
  ): Promise<SandboxPeer> {
    const ownKeys = keys ?? await newKeyPair();
    const program = await bundledProgram();
    const command = runtime === "deno" ? await denoCommand(program) : ["node", program];
    const peer = new SandboxPeer(host, inner, ownKeys, [
      ...command,
      ownKeys.privateKey,
      inner,
    ]);
    await peer.state();
    return peer;
  }

  async tell<Answer = unknown>(command: Command): Promise<Answer> {
    this.#child.stdin!.write(`${JSON.stringify(command)}\n`);
    const { value, done } = await this.#lines.next();
    if (done) throw new Error("The peer program has ended.");
    return JSON.parse(value);
  }

  setPeers(...peers: PeerConfiguration[]): Promise<unknown> {
    return this.tell({ do: "setPeers", peers });
  }

  /** How many of so many pings are answered. */
  async ping(
    to: string,
    { count = 1, source }: {
      readonly count?: number;
      readonly source?: string;
    } = {},
  ): Promise<number> {
    const command = {
      do: "ping",
      to,
      count,
      ...(source && { source }),
    } as const;
    return (await this.tell<{ answered: number }>(command)).answered;
  }

  state(): Promise<State> {
    return this.tell({ do: "state" });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.stdin!.end();
    await this.#ended;
  }
}

let bundling: Promise<string> | null = null;

/** One file that both runtimes and every user can read. */
function bundledProgram(): Promise<string> {
  bundling ??= bundle();
  return bundling;
}

async function bundle(): Promise<string> {
  const folder = await Deno.makeTempDir({ prefix: "peer-program-" });
  await Deno.chmod(folder, 0o755);
  globalThis.addEventListener(
    "unload",
    () => Deno.removeSync(folder, { recursive: true }),
  );
  const file = `${folder}/peer.mjs`;
  const options = ["--quiet", "--config", CONFIG, "--output", file];
  await run([Deno.execPath(), "bundle", ...options, PROGRAM]);
  await Deno.copyFile(Deno.execPath(), `${folder}/deno`);
  await Deno.chmod(`${folder}/deno`, 0o755);
  return file;
}

/** Deno lies where another user may not go. */
function denoCommand(program: string): Promise<string[]> {
  const deno = program.replace(/peer\.mjs$/, "deno");
  return Promise.resolve([
    deno,
    "run",
    "--allow-all",
    "--unstable-net",
    "--no-config",
    program,
  ]);
}
