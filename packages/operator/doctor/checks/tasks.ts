import { type Facts, inspected } from "../facts/facts.ts";
import { type Finding, note, ok, shell } from "../findings/finding.ts";

/** The database counts no more. */
const MOST_COUNTED = 1000;

/** Whether work waits for its givers. That is no fault of the deployment, but nobody else tells. */
export function checkTasks(facts: Facts): Finding[] {
  const database = inspected(facts);
  if (database === null) return [];
  const { parked_tasks, parked_grant_id } = database;
  if (parked_grant_id === null) return [ok("tasks", "No task is parked.")];
  const count = parked_tasks >= MOST_COUNTED ? `${MOST_COUNTED} or more` : String(parked_tasks);
  return [note(
    "tasks",
    parked_tasks === 1
      ? "1 task is parked: it failed too often, or for good, and waits for its giver."
      : `${count} tasks are parked: they failed too often, or for good, and wait for their givers.`,
    "Their events, task.parked, say which, and /grants of the givers says why. To let the first one begin again:",
    shell(
      `curl -sS --fail-with-body -X POST '${facts.url}/functions/v1/agent-artifacts/inbox/requeue' \\\n` +
        `  -H "apikey: $SUPABASE_SECRET_KEY" -d '{"grant_id": "${parked_grant_id}"}'`,
    ),
  )];
}
