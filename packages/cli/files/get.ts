import { access } from "node:fs/promises";
import { extractFolder } from "../../agent-files/folders/get_folder.ts";
import { folderNameOf, isPackedFolder } from "../../agent-files/folders/packed.ts";
import type { AgentFiles } from "../../agent-files/agent_files.ts";
import { AgentError } from "../../agent-files/errors/agent_error.ts";
import type { GetOptions, Got } from "../../agent-files/transfer/get.ts";
import { defineVerb, type Verb } from "../verb.ts";
import { UsageError } from "../../command/usage_error.ts";
import { safeSegments } from "../downloads/safe_path.ts";
import { save } from "../downloads/save.ts";
import type { Context } from "../context.ts";
import { inBytes, note, plain, write } from "../../command/terminal/output.ts";
import { ProgressBar } from "../terminal/progress_bar.ts";

const STANDARD_OUTPUT = "-";

export const get: Verb = defineVerb({
  summary: "Download a file by its artifact id, its name (key) or a grant token.",
  positionals: {
    usage: "ARTIFACT|KEY[@VERSION]|TOKEN",
    least: 1,
    most: 1,
    wrong: "Name one artifact id, file or grant token.",
  },
  example: "agentfiles get plans/house.txt --from planner -o house.txt\n" +
    "agentfiles get plans/house.txt@3 -o house.3.txt   # its third version",
  options: {
    out: {
      type: "string",
      short: "o",
      value: "FILE",
      help: "the target file; default: the last part of the file's name; - is standard output",
      completes: "file",
    },
    from: {
      type: "string",
      value: "AGENT",
      help: "the owner of the file; default: the agent itself",
    },
    force: {
      type: "boolean",
      help: "replace an existing file; an existing folder is never replaced",
    },
    extract: {
      type: "boolean",
      help: "extract any tar to a folder; folders that `put` sent are extracted without it",
    },
    "no-extract": { type: "boolean", help: "keep the tar" },
  },
  async run({ positionals, values }, context) {
    const { out, extract, "no-extract": keep = false } = values;
    if (extract && (keep || out === STANDARD_OUTPUT)) {
      throw new UsageError(
        `--extract makes a folder. Leave out ${keep ? "--no-extract" : "-o -"}.`,
      );
    }
    const named = positionals[0]!;
    const files = await context.files();
    using bar = new ProgressBar(named, context.output);
    const got = await open(files, named, { from: values.from, onProgress: bar.show });
    const { artifact } = got;
    if (out === STANDARD_OUTPUT) {
      for await (
        const chunk of got.body as unknown as AsyncIterable<Uint8Array>
      ) {
        await write(chunk).catch((cause) => {
          // `runCommand` ignores EPIPE, which is right for lists. Part of a file is not verified.
          throw new Error(
            "The reader of the output closed it before its last byte.",
            { cause },
          );
        });
      }
      return;
    }
    const name = safeSegments(artifact.key).at(-1)!;
    if (extract ?? (!keep && isPackedFolder(artifact))) {
      return await saveFolder(got, out ?? folderNameOf(name), bar, context);
    }
    const path = out ?? name;
    try {
      if (!values.force && await isThere(path)) {
        throw new UsageError(taken(path));
      }
      await save(got, path, { overwrite: values.force === true });
    } catch (error) {
      await got.body.cancel().catch(() => {});
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
      throw new UsageError(taken(path));
    }
    bar[Symbol.dispose]();
    if (context.output.json) {
      await context.output.value({ ...artifact, path }, String);
    } else note(`${plain(path)}  ${inBytes(artifact.size)}`);
  },
});

/** `KEY@3` is the third version of KEY, unless there is a file of that very name. */
async function open(
  files: AgentFiles,
  named: string,
  { from, ...options }: GetOptions & { readonly from: string | undefined },
): Promise<Got> {
  const owner = from === undefined ? {} : { agentId: from };
  try {
    return await files.get(from === undefined ? named : { key: named, ...owner }, options);
  } catch (error) {
    const [, key, version] = /^(.+)@([1-9][0-9]{0,15})$/.exec(named) ?? [];
    const isMissing = error instanceof AgentError && error.code === "artifact_not_found";
    if (!isMissing || key === undefined) throw error;
    return await files.get({ key, ...owner, version: Number(version) }, options);
  }
}

async function saveFolder(
  got: Got,
  path: string,
  bar: ProgressBar,
  { output }: Context,
): Promise<void> {
  const { artifact, entries } = await extractFolder(got, path);
  bar[Symbol.dispose]();
  if (output.json) await output.value({ ...artifact, path, entries }, String);
  else {note(
      `${plain(path)}/  ${inBytes(artifact.size)}, files and folders: ${entries}`,
    );}
}

function isThere(path: string): Promise<boolean> {
  return access(path).then(() => true, () => false);
}

function taken(path: string): string {
  return `${plain(path)} already exists. Choose another file with -o, or add --force.`;
}
