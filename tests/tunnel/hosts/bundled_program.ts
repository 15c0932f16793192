import { fileURLToPath } from "node:url";
import { run } from "../../wireguard/hosts/run_program.ts";

const CONFIG = fileURLToPath(new URL("../../deno.json", import.meta.url));

/** Runs a command as a user without any privilege. */
const UNPRIVILEGED = [
  "setpriv",
  "--reuid=65534",
  "--regid=65534",
  "--clear-groups",
  "--bounding-set=-all",
  "--inh-caps=-all",
  "--no-new-privs",
];

export type Runtime = "deno" | "node";

/**
 * A program as one file that both runtimes and every user can read. The file is removed when this
 * process ends.
 */
export class BundledProgram {
  private constructor(readonly folder: string) {}

  static async of(source: URL): Promise<BundledProgram> {
    const folder = await Deno.makeTempDir({ prefix: "bundled-program-" });
    await Deno.chmod(folder, 0o755);
    globalThis.addEventListener("unload", () => Deno.removeSync(folder, { recursive: true }));
    const options = ["--quiet", "--config", CONFIG, "--output", `${folder}/program.mjs`];
    await run([Deno.execPath(), "bundle", ...options, fileURLToPath(source)]);
    // Other users cannot enter the folder of the Deno program.
    await Deno.copyFile(Deno.execPath(), `${folder}/deno`);
    await Deno.chmod(`${folder}/deno`, 0o755);
    return new BundledProgram(folder);
  }

  /** Copies a file next to the program, where every user can read it. */
  async add(name: string, file: URL): Promise<string> {
    await Deno.copyFile(file, `${this.folder}/${name}`);
    await Deno.chmod(`${this.folder}/${name}`, 0o644);
    return `${this.folder}/${name}`;
  }

  /** The command that runs the program. */
  command(runtime: Runtime, { isPrivileged }: { readonly isPrivileged: boolean }): string[] {
    const options = ["run", "--allow-all", "--unstable-net", "--no-config"];
    const program = runtime === "node" ? ["node"] : [`${this.folder}/deno`, ...options];
    return [...(isPrivileged ? [] : UNPRIVILEGED), ...program, `${this.folder}/program.mjs`];
  }
}
