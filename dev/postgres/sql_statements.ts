/**
 * Splits SQL text into its statements, trimmed and without their final semicolons, comments kept: the way the Supabase
 * CLI records an applied migration. Knows quotes, dollar quotes, both kinds of comment and `begin atomic` bodies.
 */
export function splitStatements(sql: string): string[] {
  const statements: string[] = [];
  let start = 0;
  let position = 0;
  let atomicDepth = 0;
  while (position < sql.length) {
    TOKEN.lastIndex = position;
    const token = TOKEN.exec(sql);
    if (token === null) break;
    position = TOKEN.lastIndex;
    const text = token[0].toLowerCase();
    if (text.startsWith("begin")) atomicDepth = 1;
    else if (text === "case" && atomicDepth > 0) atomicDepth++;
    else if (text === "end" && atomicDepth > 0) atomicDepth--;
    else if (text.startsWith("/*")) position = endOfBlockComment(sql, token.index);
    else if (text.startsWith("$")) position = endOf(sql, token[0], position);
    else if (text === ";" && atomicDepth === 0) {
      add(sql.slice(start, token.index));
      start = position;
    }
  }
  add(sql.slice(start));
  return statements;

  function add(statement: string): void {
    const trimmed = statement.trim();
    if (trimmed !== "") statements.push(trimmed);
  }
}

// One alternative for each thing in which a semicolon does not end a statement. E'' strings know backslashes.
const TOKEN = new RegExp(
  [
    String.raw`--[^\n]*`,
    String.raw`/\*`,
    String.raw`\be'(?:[^'\\]|\\.|'')*'`,
    String.raw`'(?:[^']|'')*'`,
    String.raw`"(?:[^"]|"")*"`,
    String.raw`(?<![\w$])\$(?:[a-z_\u0080-\uffff][\w\u0080-\uffff]*)?\$`,
    String.raw`\bbegin\s+atomic\b`,
    String.raw`\bcase\b`,
    String.raw`\bend\b`,
    ";",
  ].join("|"),
  "gis",
);

function endOf(sql: string, delimiter: string, from: number): number {
  const found = sql.indexOf(delimiter, from);
  return found === -1 ? sql.length : found + delimiter.length;
}

/** PostgreSQL's block comments nest. */
function endOfBlockComment(sql: string, from: number): number {
  const edge = /\/\*|\*\//g;
  edge.lastIndex = from;
  let depth = 0;
  for (let match = edge.exec(sql); match !== null; match = edge.exec(sql)) {
    depth += match[0] === "/*" ? 1 : -1;
    if (depth === 0) return edge.lastIndex;
  }
  return sql.length;
}
