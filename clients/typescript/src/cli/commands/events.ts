import type { ArtifactsEvent, MeshEvent } from "../../contract/types.ts";
import { type Command, defineCommand } from "../command.ts";
import { UsageError } from "../exit_codes.ts";

export const events: Command = defineCommand({
  summary: "Show what happened to the agent's files, and what it did.",
  usage: "[--follow] [--mesh] [--type TYPE]… [--after POSITION]",
  help: {
    follow: "keep running, and show new events",
    mesh: "events of the mesh; default: of the files",
    type: "only events of this type; can be repeated",
    after: "only events after this position",
  },
  example: "agent events --follow",
  options: {
    follow: { type: "boolean" },
    mesh: { type: "boolean" },
    type: { type: "string", multiple: true },
    after: { type: "string" },
  },
  async run({ positionals, values }, context) {
    if (positionals.length > 0) throw new UsageError("This verb takes only options.");
    const group = values.mesh ? await context.mesh() : await context.files();
    const isEndless = values.follow === true;
    const found = group.events({
      wait: isEndless,
      ...(values.type !== undefined && { types: values.type }),
      ...(values.after !== undefined && { after: values.after }),
    });
    await context.output.rows<ArtifactsEvent | MeshEvent>(found, {
      heads: ["AT", "TYPE", "BY", "WHAT"],
      cells: ({ event_id: _, type, at, actor, agent_id: __, ...facts }) => [
        at,
        type,
        actor ?? "",
        JSON.stringify(facts),
      ],
      isEndless,
    });
  },
});
