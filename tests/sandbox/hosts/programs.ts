import { run } from "../../wireguard/hosts/run_program.ts";

const PROJECT = new URL("../../../", import.meta.url).pathname;
const SOURCES = `${PROJECT}packages/agent-peer`;

export type Runtime = "deno" | "node";

let bundling: Promise<string> | null = null;

/** The command that runs the program of a sandbox. Any user can run it. */
export async function programCommand(runtime: Runtime): Promise<string[]> {
  bundling ??= bundle();
  const folder = await bundling;
  const options = ["run", "--allow-all", "--unstable-net", "--no-config"];
  const program = `${folder}/sandbox.mjs`;
  return runtime === "node" ? ["node", program] : [`${folder}/deno`, ...options, program];
}

/** Runs a command as a user that is not root and has no capabilities. */
export const UNPRIVILEGED: readonly string[] = [
  "setpriv",
  "--reuid=65534",
  "--regid=65534",
  "--clear-groups",
  "--bounding-set=-all",
  "--inh-caps=-all",
  "--no-new-privs",
];

/**
 * Copies everything to a folder that both runtimes and every user can read: Deno's cache belongs to
 * one user.
 */
async function bundle(): Promise<string> {
  const folder = await Deno.makeTempDir({ prefix: "sandbox-program-" });
  globalThis.addEventListener("unload", () => Deno.removeSync(folder, { recursive: true }));
  const options = ["bundle", "--quiet", "--config", `${PROJECT}tests/deno.json`, "--output"];
  const program = new URL("./sandbox_program.ts", import.meta.url).pathname;
  await run([Deno.execPath(), ...options, `${folder}/sandbox.mjs`, program]);
  await run([Deno.execPath(), ...options, `${folder}/worker.js`, `${SOURCES}/mesh/worker.ts`]);
  await Deno.mkdir(`${folder}/built`);
  await Deno.copyFile(`${SOURCES}/ip/built/lwip.wasm`, `${folder}/built/lwip.wasm`);
  // With this file, Node loads the thread's program as an ES module.
  await Deno.writeTextFile(`${folder}/package.json`, '{"type":"module"}');
  await Deno.copyFile(Deno.execPath(), `${folder}/deno`);
  await run(["chmod", "-R", "a+rX", folder]);
  return folder;
}
