/** A model of @google/adk that is a script. */
import { nextStep } from "./scripted.mjs";

// By import(): type checks of this tree, which has no such package, resolve every other form.
const { BaseLlm } = await import("@google/adk");

export class Scripted extends BaseLlm {
  constructor() {
    super({ model: "scripted" });
  }

  async *generateContentAsync({ contents }) {
    const parts = contents.flatMap(({ parts }) => parts);
    const asked = parts.find(({ text }) => text !== undefined).text;
    const answers = parts.flatMap(({ functionResponse }) => functionResponse?.response ?? []);
    const step = nextStep(asked, answers);
    const part = typeof step === "string"
      ? { text: step }
      : { functionCall: { id: `call-${answers.length}`, name: step[0], args: step[1] } };
    yield { content: { role: "model", parts: [part] } };
  }
}
