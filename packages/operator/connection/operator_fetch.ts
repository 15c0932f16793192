import { proxyFetch } from "../../agent-files/proxy/index.ts";
import { CommandError } from "../../command/command_error.ts";

let chosen: Promise<typeof fetch> | undefined;

/**
 * The `fetch` of every request that carries the secret key. It reads the proxy variables as the
 * clients do, because Deno's own does not know every form of NO_PROXY: the secret key would go to
 * a proxy that is excluded. Throws CommandError for a variable that cannot be used.
 */
export function operatorFetch(): Promise<typeof fetch> {
  return chosen ??= proxyFetch().catch((error) => {
    throw error instanceof RangeError ? new CommandError(error.message, { cause: error }) : error;
  });
}
