import { rename, rm, writeFile } from "node:fs/promises";
import process from "node:process";
import { note, write } from "../../command/terminal/output.ts";
import { defineVerb, type Verb } from "../verb.ts";

/** The wg-quick configuration. It contains secrets, so only the file's owner can read it. */
export const config: Verb = defineVerb({
  summary: "Print the wg-quick configuration, or write it to a file.",
  example: "agentfiles mesh config -o /etc/wireguard/mesh0.conf",
  options: {
    out: {
      type: "string",
      short: "o",
      value: "FILE",
      help: "write the configuration to this file, which only its owner can read",
      completes: "file",
    },
  },
  async run({ values: { out } }, context) {
    const answer = await (await context.mesh()).configuration();
    if (context.output.json) return await context.output.value(answer, String);
    if (out === undefined) return await write(answer.config);
    const temporary = `${out}.${process.pid}.part`;
    try {
      await writeFile(temporary, answer.config, { mode: 0o600, flag: "wx" });
      await rename(temporary, out);
    } finally {
      await rm(temporary, { force: true });
    }
    note(`${out}  version ${answer.config_version}`);
  },
});
