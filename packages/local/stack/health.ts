import { CommandError } from "../../command/command_error.ts";

/**
 * Waits until a function and its database are healthy. Throws CommandError after `patienceSeconds`.
 */
export async function awaitHealth(
  { url, name, patienceSeconds = 30 }: {
    readonly url: string;
    readonly name: string;
    readonly patienceSeconds?: number;
  },
): Promise<void> {
  const deadline = Date.now() + patienceSeconds * 1000;
  let last = "no answer";
  while (Date.now() < deadline) {
    const response = await fetch(`${url}/functions/v1/${name}/health`);
    const text = await response.text();
    if (response.ok) return;
    last = `${response.status} ${text}`;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new CommandError(`The function ${name} did not become healthy: ${last}`);
}
