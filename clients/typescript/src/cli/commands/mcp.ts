import process from "node:process";
import { type Command, defineCommand } from "../command.ts";
import { UsageError } from "../exit_codes.ts";

export const mcp: Command = defineCommand({
  summary:
    "Serve the agent's tools to a language model's host (MCP, by standard input and output).",
  usage: "[--root DIR]",
  help: { root: "the folder whose files the model may name; default: the one it is started in" },
  example: "claude mcp add agent -- agent mcp --root ~/work",
  options: { root: { type: "string" } },
  async run({ positionals, values }, context) {
    if (positionals.length > 0) throw new UsageError("It takes options only.");
    // The SDK is large, and of use to this verb alone.
    const { serveTools } = await import("../mcp/server.ts");
    await serveTools(context, { root: values.root ?? process.cwd() });
  },
});
