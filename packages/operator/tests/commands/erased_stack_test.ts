import assert from "node:assert/strict";
import { stackEnvironment } from "../../../local/stack/stack.ts";
import { withOwnStack } from "../../../../tests/database/own_stack.ts";
import { runTask } from "../../../local/tests/stack/stack_process.ts";

const CHECKS = {
  fsck: "agentops fsck",
  doctor: "agentops doctor",
  "mesh check": "agentops mesh check",
};

Deno.test("every agent of a stack is erased → fsck, doctor and mesh check complain of nothing more than before there was one", async () => {
  await withOwnStack(async ({ stack }) => {
    const environment = stackEnvironment(stack);
    const complaints = async () => {
      const found: Record<string, string[]> = {};
      for (const [name, program] of Object.entries(CHECKS)) {
        const { code, output, errors } = await runTask(program, { environment });
        found[name] = [String(code), ...output.split("\n"), errors];
      }
      return found;
    };
    const before = await complaints();

    const lives = await runTask("tests/database/erasure/two_lives.ts", { environment });
    assert.equal(lives.code, 0, lives.errors);
    assert.notDeepEqual(await complaints(), before, "peers that were never seen");
    for (const name of JSON.parse(lives.output) as string[]) {
      const erased = await runTask("agentops agent erase", {
        args: [name, "--confirm", name],
        environment,
      });
      assert.equal(erased.code, 0, erased.errors);
    }
    assert.deepEqual(await complaints(), before);
  }, { functionNames: ["agent-artifacts", "agent-mesh"] });
});
