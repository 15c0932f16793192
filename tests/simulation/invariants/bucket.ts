import type { Invariant } from "../registry.ts";

export const BUCKET: readonly Invariant[] = [
  {
    name: "no sweep succeeds while the bucket keeps versions",
    // What it removes would be gone, and the bytes would stay.
    hear: (entry, { bucket }) =>
      entry.operation === "/agent-artifacts/sweep" && entry.status === 200 &&
        bucket.keptDuring(entry)
        ? "a sweep answered 200"
        : null,
  },
];
