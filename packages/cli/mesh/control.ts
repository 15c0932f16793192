import process from "node:process";
import { createInterface } from "node:readline";
import { parseExposure } from "../../agent-peer/mesh/proxies/expose.ts";
import type { OpenProxies } from "../../agent-peer/mesh/proxies/open_proxies.ts";
import { UsageError } from "../../command/usage_error.ts";
import type { Output } from "../../command/terminal/output.ts";
import { errorJson } from "../error_json.ts";

/**
 * Exposes what the lines of standard input name, and answers each with a line. Resolves when
 * standard input ends: however the program ends that started this one, that end is seen here.
 */
export async function obey(proxies: OpenProxies, output: Output): Promise<null> {
  try {
    for await (const line of createInterface({ input: process.stdin })) {
      const answer = await exposed(proxies, line.trim());
      await output.value(answer, () => JSON.stringify(answer));
    }
  } catch {
    // Nobody reads the answers any more.
  }
  return null;
}

async function exposed(proxies: OpenProxies, line: string): Promise<object> {
  try {
    const exposure = parseExposure(line);
    if (exposure === null) {
      throw new UsageError(`${line} is not a port, such as 8080 or 8080=3000.`);
    }
    await proxies.expose(exposure);
    return { exposed: exposure.port };
  } catch (error) {
    return errorJson(error);
  }
}
