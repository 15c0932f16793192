/** States in which the fault scenarios of tasks begin. */
import { grant, publish } from "../../conformance/artifacts.ts";
import type { ArtifactsCast } from "../casts.ts";
import { castOfTwo } from "./arrangements.ts";
import { take } from "../../conformance/tasks/tasks.ts";

/** A new take of the cast's reader, of the committed artifact. */
export async function takenBy(
  { agent, reader, committed }: Pick<ArtifactsCast, "agent" | "reader" | "committed">,
): Promise<{ readonly grant_id: string; readonly take_id: string }> {
  const { grant_id } = await grant(agent, committed, { to: reader });
  const tasks = await take(reader, { max: 50 });
  return tasks.find((task) => task.grant_id === grant_id)!;
}

/** A task that the reader has taken, and a file of the reader's. */
export async function arrangeTaken() {
  const [owner, reader] = await castOfTwo();
  const { grant_id } = await grant(owner, await publish(owner), { to: reader });
  const [task] = await take(reader);
  return { owner, reader, grant_id, take_id: task!.take_id, built: await publish(reader) };
}
