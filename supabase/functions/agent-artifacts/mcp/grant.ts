import * as z from "zod";
import { ServiceError } from "../../_shared/errors.ts";
import { defineTool } from "../../_shared/mcp/definition.ts";

/** /grant, whose token is a secret that most conversations have no use for. */
export const grantTool = defineTool({
  name: "grant",
  additions: z.object({
    show_token: z.boolean().default(false).meta({
      description: "Also return the grant token. Anyone who reads this conversation then has it. " +
        "Required without `to_agent`: the token is then the only access.",
    }),
  }),
  async call({ run }, { given, added: { show_token } }) {
    if (!show_token && !("to_agent" in given)) {
      const message = "Required, unless show_token is true.";
      throw new ServiceError("invalid_request", {
        details: { issues: [{ path: "to_agent", message }] },
      });
    }
    const { token, ...granted } = await run<{ readonly token: string }>("/grant", given);
    return { body: show_token ? { ...granted, token } : granted };
  },
});
