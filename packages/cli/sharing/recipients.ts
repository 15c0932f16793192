import { defineVerb, type Verb } from "../verb.ts";

export const recipients: Verb = defineVerb({
  summary: "List the agents and tags that have access to your files, and the agents whose files " +
    "you have access to: until when.",
  example: "agentfiles recipients",
  options: {},
  async run(_, context) {
    const files = await context.files();
    await context.output.rows(files.recipients(), {
      heads: ["NAME", "GIVEN UNTIL", "RECEIVED UNTIL"],
      cells: ({ agent_id, tag, given_until, received_until }) => [
        agent_id ?? tag ?? "",
        given_until ?? "",
        received_until ?? "",
      ],
    });
  },
});
