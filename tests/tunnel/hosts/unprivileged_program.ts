import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { run } from "../../wireguard/hosts/command.ts";
import type { Host } from "../../wireguard/hosts/host.ts";

const CONFIG = fileURLToPath(new URL("../../../deno.json", import.meta.url));

export type Runtime = "deno" | "node";

export interface ProgramOptions {
  /** A TypeScript file. */
  readonly program: string;
  readonly args?: readonly string[];
  readonly runtime: Runtime;
  readonly env?: Readonly<Record<string, string>>;
}

/**
 * A program in a namespace, as the user `nobody` without any capability. It reads one JSON command
 * a line, and writes one JSON answer a line.
 */
export class UnprivilegedProgram implements AsyncDisposable {
  readonly #child: ReturnType<typeof spawn>;
  readonly #lines: AsyncIterator<string>;
  readonly #ended: Promise<unknown>;

  private constructor(host: Host, command: readonly string[], env: Record<string, string>) {
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
        env: { PATH: Deno.env.get("PATH") ?? "", ...env },
      },
    );
    this.#lines = createInterface({ input: this.#child.stdout! })
      [Symbol.asyncIterator]();
    this.#ended = new Promise((resolve) => this.#child.on("close", resolve));
  }

  static async start(
    host: Host,
    { program, args = [], runtime, env = {} }: ProgramOptions,
  ): Promise<UnprivilegedProgram> {
    const file = await bundled(program);
    const command = runtime === "deno" ? denoCommand(file) : ["node", file];
    return new UnprivilegedProgram(host, [...command, ...args], env);
  }

  async tell<Answer = unknown>(command: object): Promise<Answer> {
    this.#child.stdin!.write(`${JSON.stringify(command)}\n`);
    const { value, done } = await this.#lines.next();
    if (done) throw new Error("The program has ended.");
    return JSON.parse(value);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.stdin!.end();
    await this.#ended;
  }
}

const bundles = new Map<string, Promise<string>>();

/** One file that both runtimes and every user can read. */
function bundled(program: string): Promise<string> {
  const known = bundles.get(program);
  if (known !== undefined) return known;
  const bundling = bundle(program);
  bundles.set(program, bundling);
  return bundling;
}

async function bundle(program: string): Promise<string> {
  const folder = await Deno.makeTempDir({ prefix: "program-" });
  await Deno.chmod(folder, 0o755);
  globalThis.addEventListener(
    "unload",
    () => Deno.removeSync(folder, { recursive: true }),
  );
  const file = `${folder}/program.mjs`;
  const options = ["--quiet", "--config", CONFIG, "--output", file];
  await run([Deno.execPath(), "bundle", ...options, program]);
  // Deno lies where another user may not go.
  await Deno.copyFile(Deno.execPath(), `${folder}/deno`);
  await Deno.chmod(`${folder}/deno`, 0o755);
  return file;
}

function denoCommand(file: string): string[] {
  const deno = file.replace(/program\.mjs$/, "deno");
  return [deno, "run", "--allow-all", "--unstable-net", "--no-config", file];
}
