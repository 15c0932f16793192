/** The names of all fields in the requests of a contract. */
export type FieldIn<Operations> = FieldOf<Operations[keyof Operations]>;

type FieldOf<Operation> = Operation extends {
  readonly requestBody: { readonly content: { readonly "application/json": infer Body } };
} ? Extract<keyof Body, string>
  : never;

/** What a page says about a field, besides what its schema says. */
export interface FieldWords {
  /** Follows the name. */
  readonly alias?: string;
  /**
   * `{minimum}`, `{maximum}`, `{minItems}` and `{default}` stand for those of the schema,
   * `{choices}` for its values, and `{items}` for those of a list.
   */
  readonly rule: string;
  /** As the page shows them: JSON, or text that is no JSON. */
  readonly valid: readonly string[];
  readonly invalid: readonly string[];
}

/**
 * What a page says about the fields of its function's requests, in the order of the page. A name
 * stands for the field that has the same words. The compiler names a missing field.
 */
export type PageWords<Field extends string> = Readonly<Record<Field, FieldWords | Field>>;
