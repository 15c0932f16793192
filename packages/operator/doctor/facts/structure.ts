/** What a migration made, and is no longer there as it was. */
export interface MissingPart {
  readonly part: string;
  /** Makes it again. */
  readonly statement: string;
  /** Whether something else has its name; undefined: an older schema. */
  readonly is_changed?: boolean;
}

/** What carries rows of our tables to others, or rows of others into ours. */
export interface SharedTable {
  readonly kind: "publication" | "child" | "parent";
  readonly object: string;
  /** Our tables or schemas, or "all tables". */
  readonly other: string;
  /** Ends it. */
  readonly statement: string;
}
