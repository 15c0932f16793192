import { access } from "node:fs/promises";
import { defineVerb, type Verb } from "../../verb.ts";
import { UsageError } from "../../command/usage_error.ts";
import { safeSegments } from "../../files/safe_path.ts";
import { save } from "../../files/save.ts";
import { inBytes, note, plain, write } from "../../terminal/output.ts";
import { ProgressBar } from "../../terminal/progress_bar.ts";

const STANDARD_OUTPUT = "-";

export const get: Verb = defineVerb({
  summary: "Download a file by its artifact id, its name (key) or a grant token.",
  positionals: {
    usage: "ARTIFACT|KEY|TOKEN",
    least: 1,
    most: 1,
    wrong: "Name one artifact id, file or grant token.",
  },
  example: "agentfiles get plans/house.txt --from planner -o house.txt",
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
    force: { type: "boolean", help: "replace an existing file" },
  },
  async run({ positionals, values }, context) {
    const named = positionals[0]!;
    const target = values.from === undefined ? named : { key: named, agentId: values.from };
    const files = await context.files();
    using bar = new ProgressBar(named, context.output);
    const got = await files.get(target, { onProgress: bar.show });
    const { artifact } = got;
    if (values.out === STANDARD_OUTPUT) {
      for await (const chunk of got.body as unknown as AsyncIterable<Uint8Array>) {
        await write(chunk).catch((cause) => {
          // Unlike a list, part of a file is of no use: its bytes are not verified.
          throw new Error("The reader of the output closed it before its last byte.", { cause });
        });
      }
      return;
    }
    const path = values.out ?? safeSegments(artifact.key).at(-1)!;
    try {
      if (!values.force && await isThere(path)) throw new UsageError(taken(path));
      await save(got, path, { overwrite: values.force === true });
    } catch (error) {
      await got.body.cancel().catch(() => {});
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
      throw new UsageError(taken(path));
    }
    bar[Symbol.dispose]();
    if (context.output.json) await context.output.value({ ...artifact, path }, String);
    else note(`${plain(path)}  ${inBytes(artifact.size)}`);
  },
});

function isThere(path: string): Promise<boolean> {
  return access(path).then(() => true, () => false);
}

function taken(path: string): string {
  return `${plain(path)} already exists. Choose another file with -o, or add --force.`;
}
