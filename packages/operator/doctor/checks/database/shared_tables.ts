import type { SharedTable } from "../../facts/structure.ts";
import { fault, type Finding, sql } from "../../findings/finding.ts";

/** A table or publication through which rows pass our tables' privileges. */
export function reportShared({ kind, object, other, statement }: SharedTable): Finding {
  const [message, remedy] = {
    publication: [
      `The publication ${object} gives changes of our tables to its subscribers: ${other}.`,
      "Take our tables out, unless you copy them on purpose. This leaves the other tables in. If it says that you must be the owner or a superuser, run it as the role that made the publication.",
    ],
    child: [
      `The rows of the table ${object} count as rows of ${other}, whoever may write them.`,
      "End that. The table keeps its rows.",
    ],
    parent: [
      `The rows of ${other} count as rows of the table ${object}, whose readers see them.`,
      "End that. Both tables keep their rows.",
    ],
  }[kind] as [string, string];
  return fault("privileges", message, remedy, sql(statement));
}
