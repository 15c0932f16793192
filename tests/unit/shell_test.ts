/** Every shell script of the project, and the hooks that wg-quick runs as root. */
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { isLeftOutWithout } from "../left_out.ts";

const PROJECT = fileURLToPath(new URL("../../", import.meta.url));
const GOLDEN = new URL("./wireguard/golden/every_kind_of_peer.conf", import.meta.url);
const NOT_OURS = new Set([".git", ".local", "node_modules"]);

const ignore = await isLeftOutWithout("shellcheck", "The shell scripts are");

Deno.test({
  name: "shellcheck of every shell script → nothing to say",
  ignore,
  async fn() {
    const scripts = await shellScripts(PROJECT);
    assert.ok(scripts.length >= 3, `only ${scripts.length} scripts were found`);
    assert.equal(await complaints(["--external-sources", ...scripts]), "");
  },
});

Deno.test({
  name: "shellcheck of the hooks that are served → nothing to say",
  ignore,
  async fn() {
    const hooks = (await Deno.readTextFile(GOLDEN)).matchAll(/^Post(?:Up|Down) = (.*)$/gm);
    const text = Array.from(hooks, ([, hook]) => hook!.replaceAll("%i", "mesh0")).join("\n");
    // SC2015: in `a && b || c`, c is meant to run when a or b fails. SC2016: the single quotes are
    // meant to pass variables on to `sh -c`.
    const meant = "--exclude=SC2015,SC2016";
    assert.equal(await complaints(["--shell=bash", meant, "-"], text), "");
  },
});

/** The files below a folder that end with .sh or begin with a shell's `#!` line. */
async function shellScripts(folder: string): Promise<string[]> {
  const found: string[] = [];
  for await (const { name, isDirectory, isFile } of Deno.readDir(folder)) {
    const path = `${folder}${name}`;
    if (isDirectory && !NOT_OURS.has(name)) found.push(...await shellScripts(`${path}/`));
    if (isFile && (name.endsWith(".sh") || await beginsAsShell(path))) found.push(path);
  }
  return found;
}

async function beginsAsShell(path: string): Promise<boolean> {
  using file = await Deno.open(path);
  const start = new Uint8Array(64);
  const length = await file.read(start) ?? 0;
  return /^#!.*\b(?:ba)?sh\b/.test(new TextDecoder().decode(start.subarray(0, length)));
}

async function complaints(args: readonly string[], input = ""): Promise<string> {
  const child = new Deno.Command("shellcheck", {
    args: [...args],
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  }).spawn();
  await new Blob([input]).stream().pipeTo(child.stdin);
  const { success, stdout, stderr } = await child.output();
  const [output, errors] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
  return success ? "" : output || errors || "shellcheck failed";
}
