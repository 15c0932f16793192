import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { PROJECT } from "../../dev/command/project.ts";

/** The packed package, installed into an empty project. Returns the path of its command. */
export async function installPackage(folder: string): Promise<string> {
  await run([Deno.execPath(), "run", "--allow-all", "dev/clients/build.ts"], PROJECT);
  const client = join(PROJECT, "clients/typescript");
  await run(["npm", "pack", "--ignore-scripts", "--pack-destination", folder], client);
  await writeFile(join(folder, "package.json"), '{"private": true, "type": "module"}');
  await run(["npm", "install", "--no-audit", "--no-fund", "./agent-files-0.0.0.tgz"], folder);
  return join(folder, "node_modules/.bin/agent");
}

async function run([command, ...args]: readonly string[], cwd: string): Promise<void> {
  const { code, stderr } = await new Deno.Command(command!, { args, cwd }).output();
  assert.equal(code, 0, new TextDecoder().decode(stderr));
}
