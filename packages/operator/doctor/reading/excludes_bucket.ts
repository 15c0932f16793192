/** A bucket, and the columns of a table that can name it. */
export interface NamedBucket {
  readonly bucket: string;
  readonly columns: readonly string[];
}

/**
 * Whether a policy's expression can never be true for the bucket. Expects the form of
 * `pg_get_expr`: parentheses around each AND and OR, and constants with their types. An expression
 * that is not understood excludes nothing.
 */
export function excludesBucket(expression: string | null, named: NamedBucket): boolean {
  if (expression === null) return false;
  const text = withoutParentheses(expression.trim());
  const alternatives = partsBetween(text, " OR ");
  if (alternatives.length > 1) return alternatives.every((part) => excludesBucket(part, named));
  const conditions = partsBetween(text, " AND ");
  if (conditions.length > 1) return conditions.some((part) => excludesBucket(part, named));
  return text === "false" || isOfOtherBuckets(text, named);
}

/** `column = 'other'`, `<> 'bucket'`, `= ANY (ARRAY['other'])` or `<> ALL (ARRAY['bucket'])`. */
function isOfOtherBuckets(condition: string, { bucket, columns }: NamedBucket): boolean {
  const [, column, operator, right] = /^(?:\w+\.)?(\w+) (=|<>) (.*)$/s.exec(condition) ?? [];
  if (column === undefined || right === undefined || !columns.includes(column)) return false;
  const constant = constantIn(right);
  if (constant !== null) return operator === "=" ? constant !== bucket : constant === bucket;
  const [, quantifier, listed] = /^(ANY|ALL) \(ARRAY\[(.*)\]\)$/s.exec(right) ?? [];
  if (listed === undefined) return false;
  const constants = partsBetween(listed, ", ").map(constantIn);
  if (operator === "<>") return quantifier === "ALL" && constants.includes(bucket);
  return quantifier === "ANY" && constants.every((value) => value !== null && value !== bucket);
}

/** The text of a constant; null if it is anything else. */
function constantIn(text: string): string | null {
  const quoted = /^'((?:[^']|'')*)'::text$/s.exec(text)?.[1];
  return quoted === undefined ? null : quoted.replaceAll("''", "'");
}

/** Removes parentheses around the whole text. */
function withoutParentheses(text: string): string {
  let bare = text;
  while (bare.startsWith("(") && closingAt(bare, 0) === bare.length - 1) {
    bare = bare.slice(1, -1).trim();
  }
  return bare;
}

/** Splits at a separator that is outside of all parentheses and quotes. */
function partsBetween(text: string, separator: string): string[] {
  const parts: string[] = [];
  let from = 0;
  for (let index = 0; index < text.length; index++) {
    if (text[index] === "(" || text[index] === "'") index = closingAt(text, index);
    else if (text.startsWith(separator, index)) {
      parts.push(text.slice(from, index));
      from = index + separator.length;
    }
  }
  return [...parts, text.slice(from)];
}

/** Where the parenthesis or quote at `index` closes; the end of the text if it does not. */
function closingAt(text: string, index: number): number {
  let depth = 0;
  for (let at = index; at < text.length; at++) {
    if (text[at] === "'") {
      const end = text.indexOf("'", at + 1);
      if (end === -1) return text.length;
      at = end;
    } else if (text[at] === "(") depth++;
    else if (text[at] === ")") depth--;
    if (depth === 0) return at;
  }
  return text.length;
}
