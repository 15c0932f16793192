/** A model of @openai/agents that is a script. */
import { nextStep } from "./scripted.mjs";

// By import(): type checks of this tree, which has no such package, resolve every other form.
const { Usage } = await import("@openai/agents");

export class Scripted {
  getResponse({ input }) {
    const items = typeof input === "string" ? [{ role: "user", content: input }] : input;
    const { content } = items.find(({ role }) => role === "user");
    const asked = typeof content === "string" ? content : content[0].text;
    const answers = items.filter(({ type }) => type === "function_call_result")
      .map(({ output }) => output);
    const step = nextStep(asked, answers);
    const output = typeof step === "string"
      ? {
        type: "message",
        role: "assistant",
        status: "completed",
        content: [{ type: "output_text", text: step }],
      }
      : {
        type: "function_call",
        callId: `call-${answers.length}`,
        name: step[0],
        status: "completed",
        arguments: JSON.stringify(step[1]),
      };
    return Promise.resolve({ usage: new Usage(), output: [output] });
  }
}
