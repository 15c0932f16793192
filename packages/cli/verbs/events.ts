import type { ArtifactsEvent, MeshEvent } from "../../agent-files/contract/types.ts";
import { note } from "../../command/terminal/output.ts";
import { defineVerb, type Verb } from "../verb.ts";

export const events: Verb = defineVerb({
  summary: "Show what happened to the agent's files, and what it did.",
  example: "agentfiles events --follow",
  options: {
    follow: { type: "boolean", help: "keep running, and show new events" },
    mesh: {
      type: "boolean",
      help: "events of the mesh; default: of the files",
    },
    type: {
      type: "string",
      multiple: true,
      value: "TYPE",
      help: "only events of this type; can be repeated",
    },
    after: {
      type: "string",
      value: "POSITION",
      help: "only events after this position",
    },
  },
  async run({ values }, context) {
    const group = values.mesh ? await context.mesh() : await context.files();
    const isEndless = values.follow === true;
    const found = group.events({
      wait: isEndless,
      onStartOver: () =>
        note(
          "The service was restored. The newest events are shown once more.",
        ),
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
