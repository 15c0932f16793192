import { createHash } from "node:crypto";
import { access, chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PROJECT } from "../../local/command/project.ts";
import { runTask } from "../../local/command/run_task.ts";
import { readDocument } from "../../operator/doctor/facts/openapi_document.ts";
import { buildClient } from "../clients/build_client.ts";
import { bundleCommandLine } from "../clients/bundle.ts";
import { copySources } from "../clients/client_sources.ts";
import { packNpmPackage } from "./npm_package.ts";
import { writeWheel } from "./wheel.ts";

const TARGET = join(PROJECT, "dist");
const FUNCTIONS = ["agent-artifacts", "agent-mesh"] as const;

/**
 * Writes everything that a release offers to download to `dist/`. The same tree gives the same
 * bytes. Publishes nothing.
 */
async function release(): Promise<void> {
  await rm(TARGET, { recursive: true, force: true });
  await mkdir(join(TARGET, "openapi"), { recursive: true });
  const staging = await mkdtemp(join(tmpdir(), "agent-files-release-"));
  try {
    const licence = await findLicence();
    await buildClient({ isRelease: true });
    await packNpmPackage({
      target: TARGET,
      staging: join(staging, "npm"),
      repository: repositoryUrl(),
      licence,
    });
    await writeCommandLine();
    await writeWheel({ target: TARGET, licence });
    for (const name of FUNCTIONS) {
      const document = { ...await readDocument(name), servers: [hostedServer(name)] };
      await writeFile(
        join(TARGET, "openapi", `${name}.json`),
        `${JSON.stringify(document, null, 2)}\n`,
      );
    }
    await writeDigests();
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}

/**
 * A function's own document names only a path. A document that is read elsewhere also has to say
 * where the functions are.
 */
function hostedServer(name: string) {
  return {
    url: `https://{project}.supabase.co/functions/v1/${name}`,
    variables: {
      project: { default: "project-ref", description: "The reference of the Supabase project." },
    },
  };
}

async function writeCommandLine(): Promise<void> {
  await using sources = await copySources();
  const file = join(TARGET, "agentfiles.mjs");
  const licences = await bundleCommandLine(sources.path, file);
  // The file is distributed alone, so it includes the licences.
  const comment = `/*\n${licences.replaceAll("*/", "* /")}*/\n`;
  await writeFile(file, `${await readFile(file, "utf8")}${comment}`);
  await chmod(file, 0o755);
}

/** Writes the digests in the format of `sha256sum --check`. */
async function writeDigests(): Promise<void> {
  const lines = [];
  for (const file of (await listFiles(TARGET)).sort()) {
    const digest = createHash("sha256").update(await readFile(join(TARGET, file))).digest("hex");
    lines.push(`${digest}  ${file}\n`);
  }
  await writeFile(join(TARGET, "SHA256SUMS"), lines.join(""));
  console.log(lines.join("").trimEnd());
}

async function listFiles(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).slice(folder.length + 1));
}

/**
 * npm's provenance needs the repository in which the package is built. GitHub's jobs set these
 * variables.
 */
function repositoryUrl(): string | null {
  const [server, name] = [Deno.env.get("GITHUB_SERVER_URL"), Deno.env.get("GITHUB_REPOSITORY")];
  return server && name ? `${server}/${name}.git` : null;
}

async function findLicence(): Promise<string | null> {
  const file = join(PROJECT, "LICENSE");
  return await access(file).then(() => file, () => null);
}

await runTask({
  task: "release",
  summary: "Write the downloads of a release to dist/. Publishes nothing.",
  example: "deno task release",
  run: release,
});
