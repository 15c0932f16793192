import { runAnyhow } from "../../wireguard/hosts/run_program.ts";

/** The folder of the minimal agent. */
export const EXAMPLES = new URL("../../../examples", import.meta.url).pathname;

/** What wg-quick.jq makes of an answer of /wg_config with `"format": "json"`. */
export async function wgQuickFile(
  answer: unknown,
): Promise<{ success: boolean; output: string; errors: string }> {
  const command = ["jq", "-erf", `${EXAMPLES}/wg-quick.jq`];
  return await runAnyhow(command, { input: JSON.stringify(answer) });
}
