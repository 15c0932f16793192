/**
 * A stand-in for the Supabase CLI, because the local stack has no project to deploy to. It records
 * its commands, and the test gives the function the environment that the platform would give it.
 */
import { join } from "node:path";

const SCRIPT = `#!/bin/bash
set -eu
[[ $1 == supabase@3.1.0 ]]
shift
if [[ "$1 $2 $3" == "secrets set --env-file" ]]; then echo "secrets set $(<"$4")" >> "$HOME/told"
else echo "$*" >> "$HOME/told"; fi
`;

export class NpxStandIn implements AsyncDisposable {
  private constructor(readonly home: string) {}

  static async make(): Promise<NpxStandIn> {
    const home = await Deno.makeTempDir({ prefix: "agent-mesh-npx-" });
    await Deno.writeTextFile(join(home, "npx"), SCRIPT, { mode: 0o755 });
    return new NpxStandIn(home);
  }

  get environment(): Record<string, string> {
    return { HOME: this.home, PATH: `${this.home}:${Deno.env.get("PATH")}` };
  }

  /** Applies the recorded commands to a function's environment. */
  async apply(before: Readonly<Record<string, string>>): Promise<Record<string, string>> {
    const told = (await Deno.readTextFile(join(this.home, "told"))).trim().split("\n");
    let environment = { ...before };
    for (const command of told) {
      const [, name, value] = /^secrets set (\w+)=(.*)$/.exec(command) ?? [];
      const unset = /^secrets unset (\w+)$/.exec(command)?.[1];
      if (name !== undefined && value !== undefined) environment[name] = value;
      else if (unset !== undefined) delete environment[unset];
      else if (command === "functions deploy agent-artifacts agent-mesh --use-api") {
        // A deployment passes the current keys again.
        environment = {};
      } else throw new Error(`The stand-in was told: ${command}`);
    }
    return environment;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.home, { recursive: true });
  }
}
