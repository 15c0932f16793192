import type { McpDefinition } from "./mcp/definition.ts";
import type { Documentation } from "./openapi/document.ts";
import type { Links } from "./operations/link.ts";
import type { Operations } from "./operations/operation.ts";
import type { LogRequest } from "./request/request_log.ts";
import type { PlatformSettings } from "./settings/platform.ts";
import type { Environment, Variables } from "./settings/variables.ts";
import type { CallDatabase } from "./upstream/database.ts";
import type { ReadMetrics } from "./usage/metrics.ts";

/** What GET /health looks with. */
export interface HealthChecked<Settings extends PlatformSettings> {
  readonly settings: Settings;
  readonly callDatabase: CallDatabase;
}

/** What makes a function out of the pipeline that both functions have. */
export interface AppDescription<Settings extends PlatformSettings> {
  /** The function's name, which is also the first segment of every path that it sees. */
  readonly name: "agent-artifacts" | "agent-mesh";
  /** Throws SettingsError. */
  readonly readSettings: (environment: Environment) => Settings;
  /**
   * What else is wrong with the settings, to be found out by the first request; null: nothing is to
   * be. For what takes code that no other deployment should load. Throws SettingsError.
   */
  readonly laterCheck?: (settings: Settings) => (() => Promise<unknown>) | null;
  /** What `readSettings` reads beside what every function does, for GET /health. */
  readonly variables: Variables;
  readonly operations: Operations<Settings>;
  /** What people open in a browser. */
  readonly links?: Links<Settings>;
  /** What GET /health looks at besides the database. Throws what is wrong. */
  readonly checkHealth?: (platform: HealthChecked<Settings>) => Promise<void>;
  /** What GET /metrics says of the function's own group, loaded by the first who asks. */
  readonly loadMetrics: () => Promise<{ readonly readMetrics: ReadMetrics<Settings> }>;
  /** What only the OpenAPI document needs, loaded with it. */
  readonly loadDocumentation: () => Promise<{ readonly documentation: Documentation }>;
  /** What only MCP clients need, loaded with what serves them. */
  readonly loadMcp: () => Promise<{ readonly mcp: McpDefinition }>;
  /** What is done with each request that has ended. Default: one line of the log. */
  readonly log?: LogRequest | undefined;
}
