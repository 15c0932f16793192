import type { AppDescription } from "../app_description.ts";
import { ServiceError } from "../errors.ts";
import { isOperator } from "./address_limits.ts";
import { PLATFORM_VARIABLES, type PlatformSettings } from "../settings/platform.ts";
import type { Variables } from "../settings/variables.ts";
import type { CallDatabase } from "../../data/database.ts";
import { VERSION } from "../version.ts";

/** What GET /health needs. */
export interface HealthQuestion<Settings extends PlatformSettings> {
  readonly headers: Headers;
  readonly settings: Settings;
  /** The variables that only this function reads. */
  readonly variables: Variables;
  readonly callDatabase: CallDatabase;
  /** What is checked besides the database. Throws if something is wrong. */
  readonly checkHealth: AppDescription<Settings>["checkHealth"];
}

/**
 * Answers GET /health: whether the function can serve. The operator also gets its version, clock
 * and settings. Throws misconfigured, upstream_unavailable.
 */
export async function answerHealth<Settings extends PlatformSettings>(
  { headers, settings, variables, callDatabase, checkHealth }: HealthQuestion<Settings>,
): Promise<object> {
  try {
    const [health] = await Promise.all([
      callDatabase<object>("check_health", {}),
      checkHealth?.({ settings, callDatabase }),
    ]);
    if (!isOperator(headers, settings)) return health;
    return {
      ...health,
      version: VERSION,
      time: new Date().toISOString(),
      settings: numbersOf(settings, { ...PLATFORM_VARIABLES, ...variables }),
      ...(settings.legacyKey !== null && { legacy_key: settings.legacyKey.use }),
    };
  } catch (cause) {
    // Whatever the reason is, this instance cannot serve now.
    if (cause instanceof ServiceError && cause.code === "misconfigured") throw cause;
    throw new ServiceError("upstream_unavailable", { cause });
  }
}

/**
 * The numeric settings, by the names of their variables. Secrets are texts, so none is included.
 */
function numbersOf(settings: object, variables: Variables): Record<string, number> {
  const values = new Map<string, unknown>(Object.entries(settings));
  return Object.fromEntries(
    Object.entries(variables).flatMap(([setting, { name }]) => {
      const value = values.get(setting);
      return typeof value === "number" ? [[name, value]] : [];
    }),
  );
}
