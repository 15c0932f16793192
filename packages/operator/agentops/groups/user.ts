import { userToken } from "../../user_token.ts";
import { defineOperations, type Operation } from "../../command.ts";

export const user: Operation = defineOperations({
  summary: "Sign in users of the local stack.",
  example: "agentops user token ada",
  parts: {
    token: userToken,
  },
});
