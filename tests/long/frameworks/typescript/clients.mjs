/** The frameworks' MCP clients. Each calls a tool as its agents do, without a model. */
import { answerOf } from "./scripted.mjs";

const CLIENTS = {
  async ai({ url, headers }) {
    const { createMCPClient } = await import("@ai-sdk/mcp");
    const client = await createMCPClient({ transport: { type: "http", url, headers } });
    const tools = await client.tools();
    return {
      call: (name, given) => tools[name].execute(given, { toolCallId: "1", messages: [] }),
      close: () => client.close(),
    };
  },

  async "@openai/agents"({ url, headers }) {
    const { MCPServerStreamableHttp } = await import("@openai/agents");
    const server = new MCPServerStreamableHttp({ name: "it", url, requestInit: { headers } });
    await server.connect();
    return {
      call: (name, given) => server.callTool(name, given),
      close: () => server.close(),
    };
  },

  async "@mastra/core"({ url, headers }) {
    const { MCPClient } = await import("@mastra/mcp");
    const servers = { it: { url: new URL(url), requestInit: { headers } } };
    const client = new MCPClient({ id: crypto.randomUUID(), servers });
    const tools = await client.listTools();
    return {
      call: (name, given) => tools[`it_${name}`].execute(given, {}),
      close: () => client.disconnect(),
    };
  },

  async "@langchain/langgraph"({ url, headers }) {
    const { MultiServerMCPClient } = await import("@langchain/mcp-adapters");
    const client = new MultiServerMCPClient({ it: { transport: "http", url, headers } });
    const tools = await client.getTools();
    return {
      call: (name, given) => tools.find((tool) => tool.name === name).invoke(given),
      close: () => client.close(),
    };
  },

  async "@google/adk"({ url, headers }) {
    const { MCPToolset } = await import("@google/adk");
    const toolset = new MCPToolset({
      type: "StreamableHTTPConnectionParams",
      url,
      transportOptions: { requestInit: { headers } },
    });
    const tools = await toolset.getTools();
    return {
      call: (name, args) =>
        tools.find((tool) => tool.name === name).runAsync({ args, toolContext: {} }),
      close: () => toolset.close(),
    };
  },
};

/** Connects a framework's client as an agent. Its calls resolve to the tools' answers. */
export async function connect(framework, { url, key }) {
  const client = await CLIENTS[framework]({
    url: `${url}/functions/v1/agent-artifacts/mcp`,
    headers: { authorization: `Bearer ${key}` },
  });
  return {
    close: client.close,
    // Some frameworks throw a refusal, with the tool's answer in its message.
    call: async (name, given) =>
      answerOf(await client.call(name, given).catch((error) => error.message)),
  };
}
