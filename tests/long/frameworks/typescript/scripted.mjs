/** What a model does that is a script, with the tools at `/mcp` and those of `agentfiles mcp`. */
import assert from "node:assert/strict";
import process from "node:process";

/** The steps of a run. Each gets the answers so far, and is a tool's call or the last words. */
const SCRIPTS = {
  "Hand a plan to the builder.": [
    () => ["put", { key: "plan.txt", text: "a house" }],
    ([{ artifact_id }]) => [
      "hand_over",
      { artifact_id, to_agent: process.env.BUILDER, note: "Build it." },
    ],
    ([, { grant_id }]) => `Handed over: ${grant_id}.`,
  ],
  "Do what is waiting.": [
    () => ["take", {}],
    ([{ tasks: [{ artifact_id }] }]) => ["get", { artifact_id, inline: true }],
    ([, { text }]) => ["put", { key: "built.txt", text: text.toUpperCase() }],
    ([{ tasks: [{ take_id }] }, , { artifact_id }]) => ["done", {
      take_id,
      reply: { artifact_id },
    }],
    ([{ tasks: [{ key }] }, , , { state }]) => `Built ${key}: ${state}.`,
  ],
  "Hand plan.txt to the builder.": [
    () => ["put_file", { path: "plan.txt" }],
    ([{ artifact_id }]) => [
      "hand_over",
      { artifact_id, to_agent: process.env.BUILDER, note: "Build it." },
    ],
    ([, { grant_id }]) => `Handed over: ${grant_id}.`,
  ],
  "Answer what is waiting by its own file.": [
    () => ["take", {}],
    ([{ task: { take_id, path } }]) => ["done", { take_id, reply: path, key: "built.txt" }],
    ([{ task: { key } }, { state, error }]) => `Built ${key}: ${state ?? error.code}.`,
  ],
  "Open a file that is not ours.": [
    () => ["get", { artifact_id: process.env.CLOSED_ID, inline: true }],
    ([{ error }]) => `Refused: ${error.code}.`,
  ],
};

/** The next call, or the last words, after what was asked and what the tools answered. */
export function nextStep(asked, answers) {
  const steps = SCRIPTS[asked];
  assert.ok(steps, `The script knows no answer to ${JSON.stringify(asked)}.`);
  return steps[answers.length](answers.map(answerOf));
}

/** A tool's answer, in whichever form a framework shows it to the model. */
export function answerOf(shown) {
  if (typeof shown === "string") return answerOf(JSON.parse(/\{.*\}/s.exec(shown)[0]));
  if (Array.isArray(shown)) return answerOf(shown[0]);
  const { structuredContent, content, output, type, text } = shown;
  if (structuredContent) return structuredContent;
  if (type?.endsWith("text")) return answerOf(text);
  return content || output ? answerOf(content ?? output) : shown;
}
