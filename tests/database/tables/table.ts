/** What a table's entry says. The tests of this folder compare it with the database. */

/**
 * A value, as text; empty: the column's default. `{name}` is the agent that the test erases or
 * removes, `{other}` another agent, which sorts before it, `{later}` one that sorts after it.
 * `{hex}` is 32 hexadecimal digits, the same in the whole row, and `{hash}` 64. `{random}` and
 * `{octets}` are other ones each time.
 */
export type Value = string;

export interface Table {
  /** `grows`, or why the table stays small, however much the service holds. */
  readonly size: "grows" | { readonly bounded: string };
  /** What ends a row. */
  readonly ends: End;
  /**
   * For a table with times: the situation in `enrolment/situations.ts` that shows that its rows
   * live long enough, or why their end takes nothing from a later cut.
   */
  readonly lives?: string;
  /** A row about `{other}`. The rows that its foreign keys name are made, too. */
  readonly row?: Readonly<Record<string, Value>>;
  /** Other rows that it needs, by table. `{column}` is a value of this row. */
  readonly needs?: Readonly<Record<string, Readonly<Record<string, Value>>>>;
  /** Columns that can contain the name of an agent. */
  readonly names?: Readonly<Record<string, Naming>>;
  /** Columns that cannot, and why, unless the database itself refuses a name. */
  readonly nameless?: Readonly<Record<string, string>>;
}

export type End =
  /** `remove_agent` deletes the rows of the agent. */
  | {
    readonly by: "removal";
    /** The columns that say whose the row is; by default all that can be a name. */
    readonly of?: readonly string[];
    /** Why `agents.holds_something` does not read the table. */
    readonly isNothing?: string;
  }
  /** The sweep deletes old rows. */
  | { readonly by: "sweep" }
  /** The row of this table takes it along (`on delete cascade`). */
  | { readonly by: "parent"; readonly table: string }
  /** This function deletes it, when something changes. */
  | { readonly by: "change"; readonly function: string; readonly why: string }
  | { readonly by: "nothing"; readonly why: string };

/** How a row gets a name into a column, for the test that erases this name again. */
export interface Naming {
  /** `{name}` by default. */
  readonly value?: Value;
  /** Other columns of the same row. With `{name}`: only a row of the agent itself is erased. */
  readonly with?: Readonly<Record<string, Value>>;
  /** Why an erasure leaves the name here. It must then say that it is not complete. */
  readonly stays?: string;
}

/** An agent's name, wherever it stands in this column. */
export const NAME: Naming = {};

/** The agent's own words: others may use the same ones in their rows, and keep them. */
export function ownWords(value: Value, agent = "agent_id"): Naming {
  return { value, with: { [agent]: "{name}" } };
}

export const OUR_ID = "an identifier that the database made";
export const OUR_WORD = "one of a few words in the code";

/** Only a type check: every entry stays as exact as it was written. */
export type Tables = Readonly<Record<`${string}.${string}`, Table>>;
