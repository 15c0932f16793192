import { CommandError } from "../../packages/command/command_error.ts";
import { runTask } from "../../packages/command/run_task.ts";
import { discardLwip, isLwipBuilt, keepLwip } from "./built_lwip.ts";
import { licencesOf } from "./licences.ts";
import { ARCHIVE, prepareSources, readArchive, SOURCES } from "./lwip_source.ts";

/** Where the sources come from, for the tasks that build lwIP. */
export const SOURCE_OPTION = {
  "lwip-source": {
    type: "string",
    value: "FILE",
    help: `read lwIP's sources from ${ARCHIVE} instead of downloading it by apt`,
  },
} as const;

export interface BuildOptions {
  /** The path of lwIP's archive. Null: apt downloads it. */
  readonly archive: string | null;
  /** Whether to write the digest instead of comparing it. Default: no. */
  readonly isNew?: boolean;
}

/**
 * Compiles lwIP to a file among the client's sources, beside its licence. Throws CommandError, also
 * if the bytes do not match the digest in the tree.
 */
export async function buildLwip({ archive, isNew = false }: BuildOptions): Promise<void> {
  const tree = await prepareSources(await readArchive(archive));
  // Loaded here, so that whoever has a built file does not download the compiler.
  const { compileLwip } = await import("./compile.ts");
  const bytes = await compileLwip(tree);
  await keepLwip({ bytes, licence: await licencesOf({ tree, files: SOURCES }), isNew });
}

/**
 * Builds lwIP unless it has been built from this tree. Resolves to null, or to a sentence that says
 * why it is missing: its sources cannot be had on this machine. Then everything works but the
 * sandbox peer. Throws CommandError for an `archive` that cannot be used.
 */
export async function ensureLwip(archive: string | null): Promise<string | null> {
  if (await isLwipBuilt()) return null;
  try {
    await buildLwip({ archive });
    return null;
  } catch (error) {
    if (archive !== null || !(error instanceof CommandError)) throw error;
    await discardLwip();
    return `Without the sandbox peer (\`agentfiles mesh join\`, \`agent-files/mesh\`): its TCP/IP ` +
      `stack could not be built. ${error.message} To add it, name Debian's ${ARCHIVE} with ` +
      "--lwip-source.";
  }
}

if (import.meta.main) {
  await runTask({
    task: "mesh:build",
    summary: "Compile the TCP/IP stack of the sandbox peer (lwIP, from Debian's source package).",
    example: "deno task mesh:build",
    options: {
      ...SOURCE_OPTION,
      new: { type: "boolean", help: "write the digest instead of comparing it" },
    },
    run: async ({ values }) => {
      await buildLwip({
        archive: values["lwip-source"] ?? null,
        isNew: values.new === true,
      });
      console.log("lwip.wasm is in packages/agent-peer/ip/built/");
    },
  });
}
