import { CommandError } from "../command/command_error.ts";
import type { NumberedRequest } from "./key_requests.ts";
import { callAsOperator, describeRefusal } from "./operator_call.ts";

/** How many keys one call makes. */
const BATCH_SIZE = 100;

export interface MadeKey {
  readonly agent_id: string;
  readonly key_id: string;
  readonly key: string;
}

interface Answer {
  readonly made: readonly MadeKey[];
  readonly refused:
    | null
    | { readonly code: string; readonly details: Readonly<Record<string, unknown>> | null };
}

/**
 * Makes keys in few calls, and yields each batch as soon as it is made. If it stops midway, the
 * keys that it has yielded remain. Throws CommandError, whose message says how far it came.
 */
export async function* makeKeys(
  requests: readonly NumberedRequest[],
): AsyncGenerator<MadeKey> {
  let count = 0;
  while (count < requests.length) {
    const batch = requests.slice(count, count + BATCH_SIZE);
    const { made, refused } = await make(batch, { count, of: requests.length });
    yield* made;
    count += made.length;
    if (refused !== null) {
      const { line, agent_id } = requests[count]!;
      throw new CommandError(
        `${soFar(count, requests.length)} Line ${line} (${agent_id}) was refused: ${
          describeRefusal(refused.code, refused.details ?? {})
        }. Correct it, and run this again with the lines from ${line} on.`,
      );
    }
  }
}

async function make(
  batch: readonly NumberedRequest[],
  { count, of }: { readonly count: number; readonly of: number },
): Promise<Answer> {
  const keys = batch.map(({ line: _, ...request }) => request);
  try {
    return await callAsOperator("create_agent_keys", { keys }) as Answer;
  } catch (cause) {
    const [first, last] = [batch[0]!.line, batch.at(-1)!.line];
    throw new CommandError(
      `${soFar(count, of)} Then: ${
        (cause as Error).message
      } If the answer was lost, the lines ${first} to ${last} may have agent keys that nobody was shown. Find them with agentops events --type key.created, and revoke them with agentops agent revoke <key_id>.`,
      { cause },
    );
  }
}

function soFar(count: number, of: number): string {
  return `${count} of ${of} agent keys were made, and shown above.`;
}
