import { UsageError } from "../../command/usage_error.ts";

/** A piece in quotes, or one without: pieces that touch are one word. */
const PIECE = /'([^']*)'|"([^"]*)"|([^\s'"]+)/y;

/**
 * The words of a command line. White space separates them; `'…'` and `"…"` hold a word together.
 * Nothing else has a meaning: no variables, no patterns, no escapes. Throws UsageError.
 */
export function wordsOf(text: string, option: string): [string, ...string[]] {
  const words: string[] = [];
  let at = 0;
  while (at < text.length) {
    const [space = ""] = /^\s*/.exec(text.slice(at))!;
    const isNext = at === 0 || space !== "";
    at += space.length;
    if (at === text.length) break;
    PIECE.lastIndex = at;
    const found = PIECE.exec(text);
    if (found === null) throw new UsageError(`${option} has a quote that does not end.`);
    const piece = found[1] ?? found[2] ?? found[3]!;
    if (isNext) words.push(piece);
    else words.push(words.pop()! + piece);
    at = PIECE.lastIndex;
  }
  const [first, ...rest] = words;
  if (!first) throw new UsageError(`${option} names no program.`);
  return [first, ...rest];
}
