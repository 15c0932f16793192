import process from "node:process";
import { type Command, defineCommand } from "../command.ts";
import { UsageError } from "../exit_codes.ts";

export const mcp: Command = defineCommand({
  summary: "Serve tools to a language model's host (MCP over standard input and output).",
  usage: "[--root DIR]",
  help: { root: "the only folder that the model can read and write; default: the current one" },
  example: "claude mcp add agent -- agent mcp --root ~/work",
  options: { root: { type: "string" } },
  async run({ positionals, values }, context) {
    if (positionals.length > 0) throw new UsageError("This verb takes only options.");
    // The SDK is large, and of use to this verb alone.
    const { serveTools } = await import("../mcp/server.ts");
    await serveTools(context, { root: values.root ?? process.cwd() });
  },
});
