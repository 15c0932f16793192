import process from "node:process";
import { defineVerb, type Verb } from "../verb.ts";

export const mcp: Verb = defineVerb({
  summary: "Serve tools to a language model's host (MCP over standard input and output).",
  example: "agentfiles mcp --root ~/work",
  options: {
    root: {
      type: "string",
      value: "DIR",
      help: "the only folder that the model can read and write; default: the current one",
      completes: "folder",
    },
  },
  async run({ values }, context) {
    // Loaded only here: the SDK is large, and no other verb needs it.
    const { serveTools } = await import("../mcp/server.ts");
    await serveTools(context, { root: values.root ?? process.cwd() });
  },
});
