/** ` Did you mean …?` with the word that is nearest to a mistyped one, or nothing. */
export async function suggestionFor(
  typed: string,
  known: readonly string[],
): Promise<string> {
  const nearest = await nearestOf(typed, known);
  return nearest === undefined ? "" : ` Did you mean ${nearest}?`;
}

async function nearestOf(
  typed: string,
  known: readonly string[],
): Promise<string | undefined> {
  const begun = known.filter((word) => typed !== "" && word.startsWith(typed));
  if (begun.length === 1) return begun[0];
  // Loaded only here: commands that are typed correctly do not need it.
  const { closestMatch } = await import("leven");
  const letters = typed.replace(/^-+/, "").length;
  return closestMatch(typed, [...known], { maxDistance: letters < 4 ? 1 : 2 });
}
