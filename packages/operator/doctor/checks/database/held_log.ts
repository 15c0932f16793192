import { durationText, type OpenWriter, writerText } from "../../../reads/held_log.ts";
import { type Facts, inspected } from "../../facts/facts.ts";
import { fault, type Finding, ok, type Paste, sql } from "../../findings/finding.ts";

/** A transaction of the app may take seconds. Nothing of this project's takes a minute. */
const PATIENCE_SECONDS = 60;

/** Whether an open transaction keeps events out of the agents' feeds. */
export function checkHeldLog(facts: Facts): Finding[] {
  const database = inspected(facts);
  if (database === null) return [];
  const held = database.held_log;
  const writer = held?.writers[0];
  if (held === null || writer === undefined || held.seconds < PATIENCE_SECONDS) {
    return [ok("log of events", "No open transaction keeps events from the agents' feeds.")];
  }
  return [fault(
    "log of events",
    `For ${
      durationText(held.seconds)
    }, agents have seen no new event in their feeds: a transaction is open, of ${
      writerText(writer)
    }.`,
    remedyFor(writer),
    endOf(writer),
  )];
}

function remedyFor({ pid, prepared, transaction, database }: OpenWriter): string {
  if (prepared !== null) {
    return `Commit or roll it back where it was prepared, the database ${database}. To roll it back, which undoes what it wrote:`;
  }
  return pid === null
    ? `As a superuser, find its session: select * from pg_stat_activity where backend_xid = '${transaction}'. Then end it.`
    : "Let its program commit it. To end the session, which undoes what the transaction wrote:";
}

function endOf({ pid, prepared }: OpenWriter): Paste | null {
  if (prepared !== null) return sql(`rollback prepared '${prepared.replaceAll("'", "''")}';`);
  return pid === null ? null : sql(`select pg_terminate_backend(${pid});`);
}
