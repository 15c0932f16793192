/** The packed command at addresses that cannot answer. Each runtime has its own errors. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { runProgram } from "../../../packages/local/processes/run_program.ts";
import { startUntrustedServer } from "../../../packages/agent-files/tests/http/untrusted_server.ts";
import { NODES, runtimeIn } from "./tools.ts";

/** Checks the command's messages in a project with these runtimes, with one step per runtime. */
export async function tryUnreachable(test: Deno.TestContext, folder: string): Promise<void> {
  await using untrusted = await startUntrustedServer();
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const closed = `http://127.0.0.1:${listener.addr.port}`;
  listener.close();
  const noName = `https://${"a".repeat(64)}.invalid`;
  const main = join(folder, "node_modules/agent-files/dist/cli/main.js");
  for (const name of [...NODES, "bun"] as const) {
    await test.step(name, async () => {
      const run = async (url: string, ...options: string[]) => {
        const { code, errors } = await runProgram(runtimeIn(folder, name), {
          args: [main, "whoami", ...options],
          cwd: folder,
          env: { AGENT_URL: url, AGENT_KEY: "ak_test" },
        });
        assert.equal(code, 6, errors);
        return errors;
      };
      assert.ok((await run(noName)).startsWith(
        `agentfiles whoami: ${noName} cannot be reached: the name ${new URL(noName).hostname} `,
      ));
      assert.ok((await run(untrusted.url)).startsWith(
        `agentfiles whoami: ${untrusted.url} cannot be reached: its certificate is not trusted (`,
      ));
      const refused = `${closed} did not answer: connection refused.\n`;
      assert.equal(
        await run(closed, "--retry-seconds", "4"),
        `Retrying: ${refused}agentfiles whoami: ${refused}`,
      );
    });
  }
}
