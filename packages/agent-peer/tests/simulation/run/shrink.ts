import { simulate } from "../simulate.ts";

/**
 * Finds fewer decisions of a failing seed that still fail with the same kind of complaint: delta
 * debugging (Zeller, Hildebrandt: Simplifying and Isolating Failure-Inducing Input). Resolves to
 * the numbers of the decisions to keep.
 */
export async function shrink(
  seed: number,
  { kind, decisions, fails = (only) => failsAs(seed, { kind, only }) }: {
    readonly kind: string;
    /** How many there are. */
    readonly decisions: number;
    readonly fails?: (only: readonly number[]) => Promise<boolean>;
  },
): Promise<readonly number[]> {
  let kept: readonly number[] = Array.from({ length: decisions }, (_, index) => index + 1);
  for (let parts = 2; kept.length > 0;) {
    const size = Math.ceil(kept.length / parts);
    let smaller: readonly number[] | null = null;
    for (let at = 0; at < kept.length && smaller === null; at += size) {
      const rest = [...kept.slice(0, at), ...kept.slice(at + size)];
      if (await fails(rest)) smaller = rest;
    }
    if (smaller !== null) [kept, parts] = [smaller, Math.max(2, parts - 1)];
    else if (size === 1) break;
    else parts = Math.min(2 * parts, kept.length);
  }
  return kept;
}

/** What a complaint is about, without times, names and numbers. */
export function kindOf(finding: string): string {
  return finding.replace(/^[^:]*: /, "").replace(/\b(?:alpha|beta|gamma|delta)\b/g, "x")
    .replace(/[0-9.]+/g, "n").split("\n")[0]!;
}

async function failsAs(
  seed: number,
  { kind, only }: { readonly kind: string; readonly only: readonly number[] },
): Promise<boolean> {
  const { findings } = await simulate({ seed, only });
  return findings.some((finding) => kindOf(finding) === kind);
}
