import { bundleCommandLine } from "../../../dev/clients/bundle.ts";
import { copySources } from "../../../dev/clients/client_sources.ts";
import type { Agent } from "../../conformance/client.ts";
import type { Host } from "../../wireguard/hosts/host.ts";
import { run } from "../../wireguard/hosts/run_program.ts";
import { UNPRIVILEGED } from "./programs.ts";

/** The command line as it is installed, in a folder that every user may enter. */
export async function installed(): Promise<AsyncDisposable & { readonly folder: string }> {
  const folder = await Deno.makeTempDir({ prefix: "sandbox-command-" });
  await using sources = await copySources();
  await bundleCommandLine(sources.path, `${folder}/agentfiles`);
  await run(["chmod", "-R", "a+rx", folder]);
  const remove = () => Deno.remove(folder, { recursive: true });
  return { folder, [Symbol.asyncDispose]: remove };
}

/** A user without privileges on a host, with their own home folder. */
export async function userOn(host: Host, { agent, folder }: { agent: Agent; folder: string }) {
  const home = `${host.directory}/home`;
  await Deno.mkdir(home);
  await run(["chmod", "711", host.directory]);
  await run(["chown", "65534:65534", home]);
  const env = {
    HOME: home,
    PATH: `${folder}:${Deno.env.get("PATH")}`,
    KEY: agent.key,
    NO_COLOR: "1",
  };
  const settings = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  const command = (script: string) => [
    "env",
    "-i",
    ...settings,
    ...UNPRIVILEGED,
    "bash",
    "-c",
    `cd "$HOME"; ${script}`,
  ];
  return {
    start: (script: string, logName: string) => host.start(command(script), { logName }),
    run: (script: string) => host.runAnyhow(command(script)),
    read: (file: string) => Deno.readTextFile(`${home}/${file}`).catch(() => ""),
  };
}
