import type { UnitResult } from "./queue.ts";

const MOST_UNITS = 12;

/**
 * Lines that tell which units used most processor time, and which took longest, each with the
 * number of its tests: "  61 s of processor time,  80 s,   4 tests: tests/a/one_test.ts +2".
 */
export function describeCosts(results: readonly UnitResult[]): string[] {
  const dearest = results.toSorted((a, b) => b.processorSeconds - a.processorSeconds);
  const longest = results.toSorted((a, b) => b.seconds - a.seconds);
  const sum = results.reduce((total, { processorSeconds }) => total + processorSeconds, 0);
  const shown = new Set([...dearest.slice(0, MOST_UNITS), ...longest.slice(0, MOST_UNITS)]);
  return [
    `The tests of ${results.length} units used ${sum.toFixed(0)} s of processor time. Most:`,
    ...[...shown].map(describeUnit),
  ];
}

function describeUnit({ unit, counts, seconds, processorSeconds }: UnitResult): string {
  const tests = counts.passed + counts.failed + counts.skipped;
  const others = unit.length > 1 ? ` +${unit.length - 1}` : "";
  const columns = [
    `${processorSeconds.toFixed(0).padStart(5)} s of processor time`,
    `${seconds.toFixed(0).padStart(4)} s`,
    `${String(tests).padStart(3)} tests`,
  ];
  return `${columns.join(", ")}: ${unit[0]}${others}`;
}
