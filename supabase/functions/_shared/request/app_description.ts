import type { McpDefinition } from "../operations/mcp/definition.ts";
import type { Documentation } from "../operations/openapi/document.ts";
import type { Links } from "../operations/link.ts";
import type { Operations } from "../operations/operation.ts";
import type { LogRequest } from "./log/request_log.ts";
import type { PlatformSettings } from "./settings/platform.ts";
import type { Environment, Variables } from "./settings/variables.ts";
import type { CallDatabase } from "../data/database.ts";
import type { ReadMetrics } from "./usage/metrics.ts";

/** What `checkHealth` gets. */
export interface HealthChecked<Settings extends PlatformSettings> {
  readonly settings: Settings;
  readonly callDatabase: CallDatabase;
}

/** What one function adds to the pipeline that both functions share. */
export interface AppDescription<Settings extends PlatformSettings> {
  /** The function's name, which is also the first segment of every path that it sees. */
  readonly name: "agent-artifacts" | "agent-mesh";
  /** Throws SettingsError. */
  readonly readSettings: (environment: Environment) => Settings;
  /**
   * A further check of the settings, which the first request runs; null: no check is needed. It may
   * load code that deployments without these settings never load. The check throws SettingsError.
   */
  readonly laterCheck?: (settings: Settings) => (() => Promise<unknown>) | null;
  /** The variables that only this function reads, for GET /health. */
  readonly variables: Variables;
  readonly operations: Operations<Settings>;
  /** The links that people open in a browser. */
  readonly links?: Links<Settings>;
  /** What GET /health checks besides the database. Throws if something is wrong. */
  readonly checkHealth?: (platform: HealthChecked<Settings>) => Promise<void>;
  /** The function's own part of GET /metrics. The first request for it loads the module. */
  readonly loadMetrics: () => Promise<{ readonly readMetrics: ReadMetrics<Settings> }>;
  /** What only the OpenAPI document needs. Loaded together with it. */
  readonly loadDocumentation: () => Promise<{ readonly documentation: Documentation }>;
  /** What only MCP clients need. Loaded together with the MCP server. */
  readonly loadMcp: () => Promise<{ readonly mcp: McpDefinition }>;
  /** Called with each request that has ended. Default: writes one line to the log. */
  readonly log?: LogRequest | undefined;
}
