/** Logins by OAuth, with the clients of MCP in Python. */
import assert from "node:assert/strict";
import { withFolder } from "../../../packages/agent-files/tests/folders/sample.ts";
import { userTokens, withStack } from "../mcp/oauth_stack.ts";
import { program, runAs } from "./cast.ts";

Deno.test("mcp and fastmcp with OAuth → a denied login and an unlisted client are refused; then a user of each logs in, and one hands a file to the other, without an agent key", () =>
  withFolder((folder) =>
    withStack(async (stack, restartWith) => {
      const tokenOf = await userTokens(stack);
      const userOf = async (id: string) => ({ id, key: await tokenOf(id), keyId: "" });
      const users = [await userOf("planner"), await userOf("builder")] as const;
      const run = async (step: string): Promise<string> => {
        const args = [program("mcp_oauth.py"), step, folder];
        const environment = { PUBLISHABLE_KEY: stack.publishableKey };
        const ended = await runAs(users, "mcp", args, { url: stack.url, environment });
        assert.equal(ended.code, 0, ended.output + ended.errors);
        return ended.output;
      };
      const ids: string[] = JSON.parse(await run("log_in"));
      assert.equal(new Set(ids).size, 2);
      await restartWith({ USER_OAUTH_CLIENT_IDS: ids.join() });
      assert.equal(await run("work"), "a house\n");
    })
  ));
