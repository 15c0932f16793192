/** A stack on which OAuth clients log in, and the tokens of its users. */
import { readSigningKey } from "../../../packages/local/auth/signing_key.ts";
import { signUserToken } from "../../../packages/local/auth/user_token.ts";
import { type RunningFunction, startFunction } from "../../../packages/local/stack/functions.ts";
import { awaitHealth } from "../../../packages/local/stack/health.ts";
import { THROW_AWAY } from "../../../packages/local/stack/options.ts";
import { type Stack, startStack } from "../../../packages/local/stack/stack.ts";
import { openStateDirectory } from "../../../packages/local/tests/stack/stack_process.ts";

/** A stack whose function can be restarted with other variables. */
export async function withStack(
  test: (stack: Stack, restartWith: (more: Record<string, string>) => Promise<void>) => Promise<
    void
  >,
): Promise<void> {
  await using state = await openStateDirectory();
  let more: Record<string, string> = {};
  let running: RunningFunction | null = null;
  const stack = await startStack({
    ...THROW_AWAY,
    stateDir: state.path,
    functionNames: ["agent-artifacts"],
    async startFunction(options) {
      running = await startFunction({
        ...options,
        environment: { ...options.environment, ...more },
      });
      return running;
    },
  });
  try {
    await test(stack, async (variables) => {
      more = variables;
      const { pid } = running!;
      await running!.kill();
      while (running!.pid === pid) await new Promise((resolve) => setTimeout(resolve, 50));
      await awaitHealth({ url: stack.url, name: "agent-artifacts" });
    });
  } finally {
    await stack.stop();
  }
}

/** Makes tokens of users of a stack, each of whom owns one agent. */
export async function userTokens(stack: Stack): Promise<(agentId: string) => Promise<string>> {
  const signingKey = await readSigningKey(stack.stateDir, { make: false });
  return (agentId) =>
    signUserToken(signingKey, { sub: crypto.randomUUID(), agentId }, { url: stack.url });
}
