/** A model of the AI SDK that is a script. Mastra takes the same. */
import { nextStep } from "./scripted.mjs";

const NOTHING = { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0 };
const USAGE = { inputTokens: NOTHING, outputTokens: { total: 0, text: 0, reasoning: 0 } };

function generate({ prompt, tools }) {
  const asked = prompt.find(({ role }) => role === "user").content[0].text;
  const answers = prompt.filter(({ role }) => role === "tool")
    .flatMap(({ content }) => content.map(({ output }) => output.value));
  const step = nextStep(asked, answers);
  if (typeof step === "string") return answer({ type: "text", text: step }, "stop");
  const [name, input] = step;
  // Mastra writes the server's name before the tool's.
  const toolName = tools.find((tool) => tool.name === name || tool.name.endsWith(`_${name}`)).name;
  const toolCallId = `call-${answers.length}`;
  const call = { type: "tool-call", toolCallId, toolName, input: JSON.stringify(input) };
  return answer(call, "tool-calls");
}

function answer(part, unified) {
  return {
    content: [part],
    finishReason: { unified, raw: unified },
    usage: USAGE,
    warnings: [],
  };
}

export const scriptedModel = {
  specificationVersion: "v4",
  provider: "script",
  modelId: "scripted",
  supportedUrls: {},
  doGenerate: (options) => Promise.resolve(generate(options)),
  doStream: (options) => {
    const { content: [part], finishReason, usage } = generate(options);
    const parts = part.type === "text"
      ? [
        { type: "text-start", id: "1" },
        { type: "text-delta", id: "1", delta: part.text },
        { type: "text-end", id: "1" },
      ]
      : [part];
    const stream = ReadableStream.from([
      { type: "stream-start", warnings: [] },
      ...parts,
      { type: "finish", finishReason, usage },
    ]);
    return Promise.resolve({ stream });
  },
};
