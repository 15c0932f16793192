import * as z from "zod";
import { defineTool } from "../../_shared/mcp/definition.ts";

/** /grant, whose token is a secret that most conversations have no use for. */
export const grantTool = defineTool({
  name: "grant",
  additions: z.object({
    show_token: z.boolean().default(false).meta({
      description: "Also answer the grant token. Whoever reads this conversation then has it.",
    }),
  }),
  async call({ run }, { given, added: { show_token } }) {
    const { token, ...granted } = await run<{ readonly token: string }>("/grant", given);
    return { body: show_token ? { ...granted, token } : granted };
  },
});
