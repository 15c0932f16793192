import { createHash } from "node:crypto";
import {
  access,
  chmod,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CommandError } from "../../packages/command/command_error.ts";
import { PROJECT } from "../../packages/local/project.ts";
import { runTask } from "../../packages/command/run_task.ts";
import { readDocument } from "../../packages/operator/doctor/facts/openapi_document.ts";
import { buildClient } from "../clients/build_client.ts";
import { bundleCommandLine } from "../clients/bundle.ts";
import { copySources } from "../clients/client_sources.ts";
import { ensureLwip, SOURCE_OPTION } from "../mesh/build_lwip.ts";
import { bundleOperatorProgram } from "./agentops_bundle.ts";
import { copyOperatorSources } from "./agentops_sources.ts";
import { OPERATOR_PROGRAM, packNpmPackage, packOperatorProgram } from "./npm_package.ts";
import { writeWheel } from "./wheel.ts";

const TARGET = join(PROJECT, "dist");
/** Holds the files until all are written. It is beside `dist/`, so that it can become it. */
const UNFINISHED = join(PROJECT, "dist.unfinished");
const FUNCTIONS = ["agent-artifacts", "agent-mesh"] as const;

interface ReleaseOptions {
  /** The path of lwIP's archive. Null: apt downloads it. */
  readonly archive: string | null;
  /** Whether to fail if the sandbox peer's TCP/IP stack cannot be built. */
  readonly isComplete: boolean;
}

/**
 * Writes everything that a release offers to download to `dist/`, or leaves `dist/` as it was and
 * throws CommandError. The same tree gives the same bytes. Publishes nothing.
 */
async function release({ archive, isComplete }: ReleaseOptions): Promise<void> {
  const missing = await ensureLwip(archive);
  if (missing !== null && isComplete) throw new CommandError(missing);
  await rm(UNFINISHED, { recursive: true, force: true });
  await mkdir(join(UNFINISHED, "openapi"), { recursive: true });
  const staging = await mkdtemp(join(tmpdir(), "agent-files-release-"));
  try {
    const licence = await findLicence();
    await buildClient();
    await packNpmPackage({
      target: UNFINISHED,
      staging: join(staging, "npm"),
      repository: repositoryUrl(),
      licence,
    });
    await writeCommandLine();
    await writeOperatorProgram();
    await packOperatorProgram(join(UNFINISHED, OPERATOR_PROGRAM), {
      target: UNFINISHED,
      staging: join(staging, "agentops"),
      repository: repositoryUrl(),
      licence,
    });
    await writeWheel({ target: UNFINISHED, licence });
    for (const name of FUNCTIONS) {
      const document = { ...await readDocument(name), servers: [hostedServer(name)] };
      await writeFile(
        join(UNFINISHED, "openapi", `${name}.json`),
        `${JSON.stringify(document, null, 2)}\n`,
      );
    }
    await writeDigests();
    await rm(TARGET, { recursive: true, force: true });
    await rename(UNFINISHED, TARGET);
  } finally {
    await rm(staging, { recursive: true, force: true });
    await rm(UNFINISHED, { recursive: true, force: true });
  }
  if (missing !== null) console.error(missing);
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
  const file = join(UNFINISHED, "agentfiles.mjs");
  await finishProgram(file, await bundleCommandLine(sources.path, file));
}

async function writeOperatorProgram(): Promise<void> {
  await using sources = await copyOperatorSources();
  const file = join(UNFINISHED, OPERATOR_PROGRAM);
  await finishProgram(file, await bundleOperatorProgram(sources.path, file));
}

/** A program's file is distributed alone, so it includes the licences. */
async function finishProgram(file: string, licences: string): Promise<void> {
  const comment = `/*\n${licences.replaceAll("*/", "* /")}*/\n`;
  await writeFile(file, `${await readFile(file, "utf8")}${comment}`);
  await chmod(file, 0o755);
}

/** Writes the digests in the format of `sha256sum --check`. */
async function writeDigests(): Promise<void> {
  const lines = [];
  for (const file of (await listFiles(UNFINISHED)).sort()) {
    const bytes = await readFile(join(UNFINISHED, file));
    const digest = createHash("sha256").update(bytes).digest("hex");
    lines.push(`${digest}  ${file}\n`);
  }
  await writeFile(join(UNFINISHED, "SHA256SUMS"), lines.join(""));
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
  options: {
    ...SOURCE_OPTION,
    complete: {
      type: "boolean",
      help: "fail if the sandbox peer cannot be built, instead of leaving it out",
    },
  },
  run: ({ values }) =>
    release({
      archive: values["lwip-source"] ?? null,
      isComplete: values.complete === true,
    }),
});
