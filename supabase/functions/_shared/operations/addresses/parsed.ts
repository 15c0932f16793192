/** The result of parsing a value from outside: its trusted form, or a sentence on what is wrong. */
export type Parsed<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly refusal: string };

export function accepted<Value>(value: Value): Parsed<Value> {
  return { ok: true, value };
}

export function refused(refusal: string): Parsed<never> {
  return { ok: false, refusal };
}
