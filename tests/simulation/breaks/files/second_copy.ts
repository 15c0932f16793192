import type { Break } from "../break.ts";

const broken: Break = {
  number: 1,
  words: "A commit's move is slow and the caller comes again: a second copy that no row names.",
  absent: ["bucket"],
  changes: [{
    file: "agent-artifacts/routes/commit.ts",
    from: `return stillMoving(await callDatabase<Artifact>("leave_move", lease));`,
    to: `await callDatabase("release_commit", lease);
          throw movedAway();`,
  }],
};

export default broken;
