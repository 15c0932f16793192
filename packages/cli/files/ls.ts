import { defineVerb, type Verb } from "../verb.ts";
import { inBytes } from "../../command/terminal/output.ts";

export const ls: Verb = defineVerb({
  summary: "List the agent's files.",
  positionals: {
    usage: "[PREFIX]",
    least: 0,
    most: 1,
    wrong: "Give one prefix at most.",
  },
  example: "agentfiles ls plans/",
  options: {
    long: { type: "boolean", short: "l", help: "also show each file's version and metadata" },
  },
  async run({ positionals, values: { long = false } }, context) {
    const files = await context.files();
    await context.output.rows(files.list({ prefix: positionals[0] ?? "" }), {
      heads: [
        "KEY",
        "SIZE",
        "COMMITTED",
        "EXPIRES",
        ...(long ? ["VERSION", "METADATA"] : []),
        "ARTIFACT",
      ],
      dispensable: "ARTIFACT",
      cells: ({ key, size, committed_at, expires_at, artifact_id, version, metadata }) => [
        key,
        inBytes(size),
        committed_at ?? "",
        expires_at ?? "",
        ...(long ? [String(version ?? ""), inWords(metadata)] : []),
        artifact_id,
      ],
    });
  },
});

/** `plan=house rooms=3`: as `put --meta` takes them. */
export function inWords(metadata: Readonly<Record<string, string>> = {}): string {
  return Object.entries(metadata).map((pair) => pair.join("=")).join(" ");
}
