/** A model of LangChain that is a script. */
import { nextStep } from "./scripted.mjs";

// By import(): type checks of this tree, which has no such package, resolve every other form.
const { BaseChatModel } = await import("@langchain/core/language_models/chat_models");
const { AIMessage } = await import("@langchain/core/messages");

export class Scripted extends BaseChatModel {
  constructor() {
    super({});
  }

  _llmType() {
    return "scripted";
  }

  bindTools() {
    return this;
  }

  _generate(messages) {
    const asked = messages.find((message) => message.type === "human").text;
    const answers = messages.filter((message) => message.type === "tool")
      .map(({ content }) => content);
    const step = nextStep(asked, answers);
    const text = typeof step === "string" ? step : "";
    const calls = typeof step === "string"
      ? []
      : [{ type: "tool_call", id: `call-${answers.length}`, name: step[0], args: step[1] }];
    const message = new AIMessage({ content: text, tool_calls: calls });
    return Promise.resolve({ generations: [{ text, message }] });
  }
}
