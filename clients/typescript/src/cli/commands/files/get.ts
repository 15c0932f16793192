import { access } from "node:fs/promises";
import { type Command, defineCommand, onlyOne } from "../../command.ts";
import { UsageError } from "../../exit_codes.ts";
import { safeSegments } from "../../files/safe_path.ts";
import { save } from "../../files/save.ts";
import { inBytes, note, plain, write } from "../../terminal/output.ts";
import { ProgressBar } from "../../terminal/progress_bar.ts";

const STANDARD_OUTPUT = "-";

export const get: Command = defineCommand({
  summary: "Get a file by its artifact id, its key or a grant token.",
  usage: "ARTIFACT|KEY|TOKEN [-o FILE|-] [--from AGENT] [--force]",
  help: {
    out: "where to (-o); default: the last part of its key; - is standard output",
    from: "whose key it is; default: the agent's own",
    force: "take the place of a file that is there",
  },
  example: "agent get plans/house.txt --from planner -o house.txt",
  options: {
    out: { type: "string", short: "o" },
    from: { type: "string" },
    force: { type: "boolean" },
  },
  async run({ positionals, values }, context) {
    const named = onlyOne(positionals, "artifact, key or grant token");
    const target = values.from === undefined ? named : { key: named, agentId: values.from };
    const files = await context.files();
    using bar = new ProgressBar(named, context.output);
    const got = await files.get(target, { onProgress: bar.show });
    const { artifact } = got;
    if (values.out === STANDARD_OUTPUT) {
      for await (const chunk of got.body as unknown as AsyncIterable<Uint8Array>) {
        await write(chunk).catch((cause) => {
          // Not the end of a list that was read far enough: nobody knows whether these are right.
          throw new Error("Who reads the output went away before its last byte.", { cause });
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
  return `${plain(path)} is there already. Name another file with -o, or add --force.`;
}
