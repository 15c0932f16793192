/** Wraps text at `columns`. Longer words are not broken. */
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

/** Lists terms with their meanings: side by side, or below each other if the terminal is narrow. */
export function definitions(
  pairs: readonly (readonly [term: string, meaning: string])[],
  columns: number,
): string {
  const widest = Math.max(0, ...pairs.map(([term]) => term.length));
  const left = Math.min(widest, 28) + 4;
  const isNarrow = columns < left + 30;
  return pairs.map(([term, meaning]) => {
    const indent = " ".repeat(isNarrow ? 6 : left);
    // The first line is indented, too. So wrap all lines at the remaining width.
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
