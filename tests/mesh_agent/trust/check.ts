import { run, runAnyhow } from "../../wireguard/hosts/run_program.ts";

const MESH_AGENT = new URL("../../../examples/mesh-agent/", import.meta.url).pathname;

/** The result of `mesh-agent.sh check` for a configuration. */
export interface Checked {
  readonly success: boolean;
  readonly output: string;
  readonly errors: string;
}

interface CheckOptions {
  readonly firewall?: "nftables" | "none";
  /** The awk that runs it. Default: the machine's own. */
  readonly awk?: Awk;
}

export type Awk = "mawk" | "gawk" | "busybox";

export async function check(served: string, options: CheckOptions = {}): Promise<Checked> {
  const [checked] = await checkAll([served], options);
  return checked!;
}

/**
 * Runs `mesh-agent.sh check` for each configuration in one process, because process starts take
 * most of the time.
 */
export async function checkAll(
  served: readonly string[],
  { firewall = "nftables", awk }: CheckOptions = {},
): Promise<Checked[]> {
  const directory = await Deno.makeTempDir();
  const programs = await Deno.makeTempDir();
  try {
    if (awk !== undefined) await Deno.symlink(await pathOf(awk), `${programs}/awk`);
    for (const [index, text] of served.entries()) {
      await Deno.writeTextFile(`${directory}/${index}`, text);
    }
    const script = `source "$0/configuration.sh"
      for file in "$1"/*; do
        check "$file" >"$file.output" 2>"$file.errors" || touch "$file.refused"
      done`;
    const path = `${programs}:${Deno.env.get("PATH")}`;
    const environment = [`FIREWALL=${firewall}`, "LC_ALL=C", `PATH=${path}`];
    const shell = ["bash", "-uo", "pipefail", "-c", script, MESH_AGENT, directory];
    await run(["env", ...environment, ...shell]);
    return await Promise.all(served.map(async (_, index) => ({
      success: await Deno.stat(`${directory}/${index}.refused`).then(() => false, () => true),
      output: await Deno.readTextFile(`${directory}/${index}.output`),
      errors: await Deno.readTextFile(`${directory}/${index}.errors`),
    })));
  } finally {
    await Deno.remove(directory, { recursive: true });
    await Deno.remove(programs, { recursive: true });
  }
}

async function pathOf(program: string): Promise<string> {
  return (await run(["sh", "-c", 'command -v "$0"', program])).trim();
}

/** Whether mesh-agent accepts a text as the service's URL. */
export async function isSafeUrl(url: string): Promise<boolean> {
  const script = 'source "$0/configuration.sh"; require_safe_url "$1"';
  return (await runAnyhow(["bash", "-uc", script, MESH_AGENT, url])).success;
}
