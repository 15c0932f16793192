import { run } from "../../wireguard/hosts/command.ts";

const MESH_AGENT = new URL("../../../examples/mesh-agent/", import.meta.url).pathname;

/** What `mesh-agent.sh check` says to a configuration. */
export interface Checked {
  readonly success: boolean;
  readonly output: string;
  readonly errors: string;
}

interface CheckOptions {
  readonly firewall?: "nftables" | "none";
}

export async function check(served: string, options: CheckOptions = {}): Promise<Checked> {
  const [checked] = await checkAll([served], options);
  return checked!;
}

/** As `mesh-agent.sh check` for each, in one process, because starting one takes longest. */
export async function checkAll(
  served: readonly string[],
  { firewall = "nftables" }: CheckOptions = {},
): Promise<Checked[]> {
  const directory = await Deno.makeTempDir();
  try {
    for (const [index, text] of served.entries()) {
      await Deno.writeTextFile(`${directory}/${index}`, text);
    }
    const script = `source "$0/configuration.sh"
      for file in "$1"/*; do
        check "$file" >"$file.output" 2>"$file.errors" || touch "$file.refused"
      done`;
    const environment = [`FIREWALL=${firewall}`, "LC_ALL=C"];
    const shell = ["bash", "-uo", "pipefail", "-c", script, MESH_AGENT, directory];
    await run(["env", ...environment, ...shell]);
    return await Promise.all(served.map(async (_, index) => ({
      success: await Deno.stat(`${directory}/${index}.refused`).then(() => false, () => true),
      output: await Deno.readTextFile(`${directory}/${index}.output`),
      errors: await Deno.readTextFile(`${directory}/${index}.errors`),
    })));
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}
