/**
 * Tests what claude.ai's connectors do: the official clients log in with OAuth, without an agent
 * key.
 */
import assert from "node:assert/strict";
import {
  Client,
  type OAuthDiscoveryState,
  StreamableHTTPClientTransport,
} from "@modelcontextprotocol/client";
import { Client as OldClient } from "@modelcontextprotocol/sdk/client";
import { StreamableHTTPClientTransport as OldTransport } from "@modelcontextprotocol/sdk/client/streamableHttp";
import type { Stack } from "../../../packages/local/stack/stack.ts";
import { userTokens, withStack } from "./oauth_stack.ts";

const REDIRECT_URL = "https://connector.example/callback?of=test";

/** The state that a connector keeps between the steps of a login. */
class Connector {
  readonly redirectUrl = REDIRECT_URL;
  readonly clientMetadata;
  #information: { client_id: string; client_secret?: string } | undefined;
  #tokens: { access_token: string; token_type: string; refresh_token?: string } | undefined;
  #verifier = "";
  #discoveryState: OAuthDiscoveryState | undefined;
  authorizationUrl: URL | null = null;

  constructor(name: string, authMethod: "none" | "client_secret_post") {
    this.clientMetadata = {
      client_name: name,
      redirect_uris: [REDIRECT_URL],
      token_endpoint_auth_method: authMethod,
    };
  }

  state = () => "the state";
  clientInformation = () => this.#information;
  saveClientInformation = (information: { client_id: string }) => {
    this.#information = information;
  };
  tokens = () => this.#tokens;
  saveTokens = (tokens: { access_token: string; token_type: string }) => {
    this.#tokens = tokens;
  };
  redirectToAuthorization = (url: URL) => {
    this.authorizationUrl = url;
  };
  saveCodeVerifier = (verifier: string) => {
    this.#verifier = verifier;
  };
  codeVerifier = () => this.#verifier;
  discoveryState = () => this.#discoveryState;
  saveDiscoveryState = (state: OAuthDiscoveryState) => {
    this.#discoveryState = state;
  };

  /** The id of the client that was registered. */
  get clientId(): string {
    return this.#information!.client_id;
  }

  get accessToken(): string {
    return this.#tokens!.access_token;
  }

  /** Replaces the access token with an invalid one. */
  expire(): void {
    this.#tokens = { ...this.#tokens!, access_token: "expired" };
  }
}

/** A connector's client, which logs in and calls tools. */
interface Login {
  readonly connector: Connector;
  connect(): Promise<void>;
  finish(callback: URL): Promise<void>;
  call(tool: string, given: Record<string, unknown>): Promise<Record<string, unknown>>;
  close(): Promise<void>;
}

const NEW = { name: "connector", version: "1" };

function newLogin(url: URL): Login {
  const connector = new Connector("The newer connector", "none");
  const client = new Client(NEW);
  const transport = () => new StreamableHTTPClientTransport(url, { authProvider: connector });
  return loginBy({ connector, client, transport });
}

function oldLogin(url: URL): Login {
  const connector = new Connector("The older connector", "client_secret_post");
  const client = new OldClient(NEW);
  const transport = () => new OldTransport(url, { authProvider: connector });
  return loginBy({ connector, client, transport });
}

/** The common interface of both SDKs' clients and transports. */
interface Sdk<Transport extends { finishAuth(code: string): Promise<void> }> {
  readonly connector: Connector;
  readonly client: {
    // deno-lint-ignore no-explicit-any
    connect(transport: any): Promise<void>;
    callTool(call: { name: string; arguments: Record<string, unknown> }): Promise<unknown>;
    close(): Promise<void>;
  };
  readonly transport: () => Transport;
}

function loginBy<Transport extends { finishAuth(code: string): Promise<void> }>(
  { connector, client, transport }: Sdk<Transport>,
): Login {
  // Keep the transport: it remembers what the last 401 said.
  let current = transport();
  return {
    connector,
    async connect() {
      current = transport();
      await client.connect(current);
    },
    finish: (callback) => current.finishAuth(callback.searchParams.get("code")!),
    close: () => client.close(),
    async call(name, given) {
      const result = await client.callTool({ name, arguments: given }) as {
        isError?: boolean;
        content: { text: string }[];
      };
      const body = JSON.parse(result.content[0]!.text);
      assert.notEqual(result.isError, true, JSON.stringify(body));
      return body;
    },
  };
}

/**
 * Answers for the person whom the site's consent page asks, as the page does. Resolves to the
 * client's URL with the outcome.
 */
async function answerConsent(
  authorizationUrl: URL,
  { stack, token, action }: { stack: Stack; token: string; action: "approve" | "deny" },
): Promise<URL> {
  const asked = await fetch(authorizationUrl, { redirect: "manual" });
  await asked.body?.cancel();
  assert.equal(asked.status, 302);
  const page = new URL(asked.headers.get("location")!);
  assert.match(await (await fetch(page)).text(), /<h1>Let a program act for you\?<\/h1>/);
  const id = page.searchParams.get("authorization_id")!;
  const ask = async (path: string, init: RequestInit = {}) => {
    const answer = await fetch(`${stack.url}/auth/v1/oauth/authorizations/${id}${path}`, {
      ...init,
      headers: { apikey: stack.publishableKey, authorization: `Bearer ${token}` },
    });
    assert.equal(answer.status, 200, action);
    return await answer.json();
  };
  const { client } = await ask("");
  assert.match(client.name, /^The (?:newer|older) connector$/);
  const { redirect_url } = await ask("/consent", {
    method: "POST",
    body: JSON.stringify({ action }),
  });
  const callback = new URL(redirect_url);
  assert.equal(`${callback.origin}${callback.pathname}`, "https://connector.example/callback");
  assert.equal(callback.searchParams.get("state"), "the state");
  return callback;
}

async function whoami(stack: Stack, token: string): Promise<{ status: number; text: string }> {
  const answer = await fetch(`${stack.url}/functions/v1/agent-artifacts/whoami`, {
    headers: { authorization: `Bearer ${token}` },
  });
  return { status: answer.status, text: await answer.text() };
}

Deno.test("connectors with the official clients' OAuth → a user logs in by each, and one hands a file to the other, without an agent key", async () => {
  await withStack(async (stack, restartWith) => {
    const url = new URL(`${stack.url}/functions/v1/agent-artifacts/mcp`);
    const tokenOf = await userTokens(stack);
    const [planner, builder] = [newLogin(url), oldLogin(url)];

    for (const [login, agentId] of [[planner, "planner"], [builder, "builder"]] as const) {
      const token = await tokenOf(agentId);
      const { connector } = login;
      await assert.rejects(login.connect());
      const deny = { stack, token, action: "deny" } as const;
      const denied = await answerConsent(connector.authorizationUrl!, deny);
      assert.equal(denied.searchParams.get("error"), "access_denied");

      await assert.rejects(login.connect());
      const { authorizationUrl } = connector;
      const approve = { stack, token, action: "approve" } as const;
      const callback = await answerConsent(authorizationUrl!, approve);
      await login.finish(callback);
      // A code can be used only once.
      await assert.rejects(login.finish(callback));
      const { status, text } = await whoami(stack, connector.accessToken);
      assert.equal(status, 401);
      assert.match(text, /USER_OAUTH_CLIENT_IDS/);
    }

    await restartWith({
      USER_OAUTH_CLIENT_IDS: [planner, builder].map(({ connector }) => connector.clientId).join(),
    });
    const { text } = await whoami(stack, planner.connector.accessToken);
    assert.equal(JSON.parse(text).agent_id, "planner");
    await planner.connect();
    // The refresh token still works.
    builder.connector.expire();
    await builder.connect();
    const { artifact_id, expires_at } = await planner.call("put", { key: "a.txt", text: "hello" });
    await planner.call("grant", { artifact_id, to_agent: "builder", expires_at });
    const got = await builder.call("get", { artifact_id, inline: true });
    assert.equal(got["text"], "hello");
    await planner.close();
    await builder.close();
  });
});
