/** Text in lines of at most so many columns, where its words allow it. */
export function wrapped(text: string, columns: number, indent = ""): string {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    const longer = line === "" ? word : `${line} ${word}`;
    if (
      line === "" ||
      longer.length <= columns - (lines.length > 0 ? indent.length : 0)
    ) {
      line = longer;
    } else {
      lines.push(line);
      line = word;
    }
  }
  return [...lines, line].join(`\n${indent}`);
}

/** Terms with what they mean: beside each other, or below where that would be too narrow. */
export function definitions(
  pairs: readonly (readonly [term: string, meaning: string])[],
  columns: number,
): string {
  const widest = Math.max(0, ...pairs.map(([term]) => term.length));
  const left = Math.min(widest, 28) + 4;
  const isNarrow = columns < left + 30;
  return pairs.map(([term, meaning]) => {
    const indent = " ".repeat(isNarrow ? 6 : left);
    // The text is indented in its first line, too.
    const text = wrapped(meaning, columns - indent.length).replaceAll(
      "\n",
      `\n${indent}`,
    );
    const head = `  ${term}`;
    return isNarrow || head.length > left - 2
      ? `${head}\n${indent}${text}\n`
      : `${head.padEnd(left)}${text}\n`;
  }).join("");
}
