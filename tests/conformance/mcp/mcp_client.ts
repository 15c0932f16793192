/** Clients of the Model Context Protocol, built with the real SDKs that agents' hosts use. */
import assert from "node:assert/strict";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { Client as OldClient } from "@modelcontextprotocol/sdk/client";
import { StreamableHTTPClientTransport as OldTransport } from "@modelcontextprotocol/sdk/client/streamableHttp";
import { functionUrl, headersOf, type JsonObject, type Sender } from "../client.ts";

export type FunctionName = "agent-artifacts" | "agent-mesh";

/** A version of the protocol, or whatever the previous major version of the SDK speaks. */
export type Dialect = "2026-07-28" | "2025-11-25" | "SDK 1.x";

export const DIALECTS: readonly Dialect[] = ["2026-07-28", "2025-11-25", "SDK 1.x"];

export interface Tool {
  readonly name: string;
  readonly description?: string;
  readonly inputSchema: { readonly properties?: object; readonly required?: readonly string[] };
  readonly outputSchema?: { readonly type: "object"; readonly required?: readonly string[] };
  readonly annotations?: Readonly<Record<string, unknown>>;
}

export interface Resource {
  readonly uri: string;
  readonly name: string;
  readonly description?: string;
  readonly mimeType?: string;
  readonly size?: number;
}

interface TextContent {
  readonly type: "text";
  readonly text: string;
}

interface ToolResult {
  readonly content: readonly (TextContent | Resource & { readonly type: "resource_link" })[];
  readonly structuredContent?: unknown;
  readonly isError?: boolean;
}

/** The methods that the clients of both SDKs have. */
interface SdkClient {
  listTools(): Promise<{ tools: readonly Tool[] }>;
  callTool(call: { name: string; arguments: Record<string, unknown> }): Promise<unknown>;
  listResources(
    page?: { cursor: string },
  ): Promise<{ resources: readonly Resource[]; nextCursor?: string }>;
  listResourceTemplates(): Promise<{ resourceTemplates: readonly { uriTemplate: string }[] }>;
  readResource(resource: { uri: string }): Promise<{ contents: readonly unknown[] }>;
  getServerVersion(): { name: string; title?: string } | undefined;
  getInstructions(): string | undefined;
  close(): Promise<void>;
}

export interface CalledTool<Body> {
  readonly isError: boolean;
  readonly body: Body;
  /** The resource link, if the result has one. */
  readonly link: Resource | undefined;
  /** The number of characters that a model has to read. */
  readonly characters: number;
}

export interface McpClient extends AsyncDisposable {
  readonly sdk: SdkClient;
  /** Calls a tool, which may fail. */
  call<Body = JsonObject>(name: string, given?: object): Promise<CalledTool<Body>>;
  /** Calls a tool; an error fails the test. Returns the answer's body. */
  succeed<Body = JsonObject>(name: string, given?: object): Promise<Body>;
}

const HIDDEN = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u;

export function mcpUrl(name: FunctionName): string {
  return functionUrl(`/${name}/mcp`);
}

/** Connects with the URL and a credential, as a host does. */
export async function connect(
  name: FunctionName,
  as: Sender,
  { dialect = "2026-07-28", url = mcpUrl(name) }: { dialect?: Dialect; url?: string } = {},
): Promise<McpClient> {
  const options = { requestInit: { headers: headersOf(as) } };
  return await connectBy(dialect, {
    transport: () => new StreamableHTTPClientTransport(new URL(url), options),
    oldTransport: () => new OldTransport(new URL(url), options),
  });
}

/** The transport for either SDK. */
export interface Transports {
  readonly transport: () => Parameters<Client["connect"]>[0];
  readonly oldTransport: () => Parameters<OldClient["connect"]>[0];
}

export async function connectBy(dialect: Dialect, transports: Transports): Promise<McpClient> {
  const sdk = await connectSdk(dialect, transports);
  // A client that knows the tools compares each answer with the tool's `outputSchema`.
  let listed: Promise<unknown> | null = null;
  async function call<Body>(tool: string, given: object = {}): Promise<CalledTool<Body>> {
    await (listed ??= sdk.listTools());
    const result = await sdk.callTool({ name: tool, arguments: { ...given } }) as ToolResult;
    const [text, link, ...others] = result.content;
    assert.ok(text?.type === "text" && link?.type !== "text" && others.length === 0);
    const body = JSON.parse(text.text);
    const { isError = false, structuredContent } = result;
    // Hidden characters are shown there.
    if (isError) assert.equal(structuredContent, undefined);
    else if (!HIDDEN.test(JSON.stringify(body))) assert.deepEqual(structuredContent, body);
    return {
      isError,
      body,
      link,
      characters: text.text.length + (link === undefined ? 0 : JSON.stringify(link).length),
    };
  }
  return {
    sdk,
    call,
    async succeed<Body>(tool: string, given: object = {}) {
      const { isError, body } = await call<Body>(tool, given);
      assert.equal(isError, false, JSON.stringify(body));
      return body;
    },
    [Symbol.asyncDispose]: () => sdk.close(),
  };
}

async function connectSdk(
  dialect: Dialect,
  { transport, oldTransport }: Transports,
): Promise<SdkClient> {
  const info = { name: "a-host", version: "1" };
  if (dialect === "SDK 1.x") {
    const client = new OldClient(info);
    await client.connect(oldTransport());
    return client as unknown as SdkClient;
  }
  const mode = dialect === "2025-11-25" ? "legacy" : { pin: dialect };
  const client = new Client(info, { versionNegotiation: { mode } });
  await client.connect(transport());
  assert.equal(client.getNegotiatedProtocolVersion(), dialect);
  return client as unknown as SdkClient;
}

/** Asserts that a tool's result is this error of the catalogue. Returns its details. */
export function assertToolError({ isError, body }: CalledTool<unknown>, code: string): JsonObject {
  const { error } = body as { error: { code: string; details: JsonObject } };
  assert.equal(isError, true);
  assert.equal(error.code, code, JSON.stringify(body));
  return error.details;
}
