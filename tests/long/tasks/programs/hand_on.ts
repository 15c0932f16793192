/** What each agent of the pipeline does with a text: it adds its name, and hands the text on. */
import { AgentError, type AgentFiles } from "../../../../packages/agent-files/index.ts";

/** The agent to which a task of each agent goes on. Without an entry, the task is answered. */
export type Routes = Readonly<Record<string, string>>;

/** What the agents of the test and their programs are told by their environment. */
export interface Desk {
  readonly url: string;
  readonly key: string;
  readonly role: string;
  readonly routes: Routes;
}

export function deskFrom(environment: Readonly<Record<string, string | undefined>>): Desk {
  return {
    url: environment["AGENT_URL"]!,
    key: environment["AGENT_KEY"]!,
    role: environment["ROLE"]!,
    routes: JSON.parse(environment["ROUTES"]!),
  };
}

export function signed(text: string, role: string): string {
  return `${text} > ${role}`;
}

/**
 * Publishes what became of a task, and grants it to the next agent. However often this is repeated
 * after a crash, the next agent gets one grant.
 */
export async function handOn(
  files: AgentFiles,
  { taskId, text, to }: { readonly taskId: string; readonly text: string; readonly to: string },
): Promise<void> {
  const key = `steps/${taskId}`;
  const [found] = await Array.fromAsync(files.list({ prefix: key }));
  const { artifact_id } = found ?? await files.put(key, text);
  try {
    await files.share({ artifactId: artifact_id }, to, { idempotencyKey: taskId });
  } catch (error) {
    // An earlier attempt that still ran has published, and granted, another file with this text.
    if (!(error instanceof AgentError && error.code === "idempotency_conflict")) throw error;
  }
}
