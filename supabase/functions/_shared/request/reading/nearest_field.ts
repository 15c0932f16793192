import { closestMatch } from "leven";

/** No field has so many. */
const MAX_LETTERS = 64;

/** The field that a mistyped name stands for, if one is near. */
export function nearestField(typed: string, fields: readonly string[]): string | undefined {
  if (typed.length > MAX_LETTERS) return undefined;
  const plain = lettersOf(typed);
  const byLetters = new Map(fields.map((field) => [lettersOf(field), field]));
  const maxDistance = plain.length < 3 ? 0 : plain.length < 4 ? 1 : 2;
  const closest = closestMatch(plain, [...byLetters.keys()], { maxDistance });
  if (closest !== undefined) return byLetters.get(closest);
  const words = wordsOf(typed);
  const related = fields.filter((field) => {
    const others = wordsOf(field);
    return isPart(words, others) || isPart(others, words);
  });
  return related.length === 1 ? related[0] : undefined;
}

/** `maxDownloads` and `max-downloads` have the letters of `max_downloads`. */
function lettersOf(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z0-9]/g, "");
}

function wordsOf(name: string): readonly string[] {
  return name.replaceAll(/(?<=[a-z])(?=[A-Z])/g, "_").toLowerCase().split(/[^a-z0-9]+/);
}

function isPart(words: readonly string[], others: readonly string[]): boolean {
  return words.every((word) => others.includes(word));
}
