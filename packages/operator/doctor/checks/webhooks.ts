import { type Facts, inspected } from "../facts/facts.ts";
import { fault, type Finding, note, ok } from "../findings/finding.ts";

/** The database counts no more. */
const MOST_COUNTED = 1000;
/** What is due is sent within two minutes, if somebody calls /webhooks/deliver at all. */
const LATE_SECONDS = 600;

/** Whether events reach the operator's webhooks. */
export function checkWebhooks(facts: Facts): Finding[] {
  const database = inspected(facts);
  if (database === null) return [];
  const { parked, waits_since } = database.webhooks;
  const findings: Finding[] = [];
  const late = waits_since === null ? 0 : Date.parse(database.time) / 1000 - waits_since;
  if (late > LATE_SECONDS) {
    findings.push(fault(
      "webhooks",
      `A delivery to a webhook has been due for ${Math.floor(late / 60)} minutes.`,
      "Call /webhooks/deliver every few minutes: docs/webhooks.md, Who calls it.",
    ));
  }
  if (parked > 0) {
    const count = parked >= MOST_COUNTED ? `${MOST_COUNTED} or more` : String(parked);
    findings.push(note(
      "webhooks",
      parked === 1
        ? "1 delivery to a webhook is parked: it failed for 24 hours."
        : `${count} deliveries to webhooks are parked: they failed for 24 hours.`,
      "agentops webhook list shows of which webhooks, agentops webhook deliveries shows the last answers, and agentops webhook requeue sends them again.",
    ));
  }
  return findings.length > 0
    ? findings
    : [ok("webhooks", "No delivery to a webhook is late or parked.")];
}
