/** A line that only one of two texts has: `-`, the first; `+`, the second. */
export interface DifferingLine {
  readonly side: "-" | "+";
  readonly text: string;
}

/** The fewest lines to remove from `before` and to add, so that it becomes `after`; in order. */
export function diffLines(before: readonly string[], after: readonly string[]): DifferingLine[] {
  const common = commonLengths(before, after);
  const lines: DifferingLine[] = [];
  let [i, j] = [0, 0];
  while (i < before.length || j < after.length) {
    if (i < before.length && j < after.length && before[i] === after[j]) {
      i += 1;
      j += 1;
    } else if (
      j === after.length || i < before.length && common[i + 1]![j]! >= common[i]![j + 1]!
    ) {
      lines.push({ side: "-", text: before[i++]! });
    } else {
      lines.push({ side: "+", text: after[j++]! });
    }
  }
  return lines;
}

/** `[i][j]`: the length of the longest common subsequence of `before` from i and `after` from j. */
function commonLengths(before: readonly string[], after: readonly string[]): number[][] {
  const lengths = Array.from({ length: before.length + 1 }, () => Array(after.length + 1).fill(0));
  for (let i = before.length - 1; i >= 0; i--) {
    for (let j = after.length - 1; j >= 0; j--) {
      lengths[i]![j] = before[i] === after[j]
        ? lengths[i + 1]![j + 1]! + 1
        : Math.max(lengths[i + 1]![j]!, lengths[i]![j + 1]!);
    }
  }
  return lengths;
}
