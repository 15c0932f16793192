/** Where settings are read from: `Deno.env`, or a Map in a test. */
export interface Environment {
  get(name: string): string | undefined;
}

/** A variable is missing or cannot be used. The message names the variable, never its value. */
export class SettingsError extends Error {
  override readonly name = "SettingsError";
}

/**
 * One variable that the operator may set. Its name and bounds are defined only here. `.env.example`
 * says what it is for, so that no cold start loads that text.
 */
export interface Variable<Value> {
  readonly name: string;
  /** The value if the variable is not set; null: there is no default. */
  readonly default: Value;
  /** Throws SettingsError. */
  readonly parse: (text: string) => Value;
}

/** Variables, by the name of the setting that each becomes. */
export type Variables = Readonly<Record<string, Variable<unknown>>>;

/** The settings that variables become. */
export type SettingsOf<Declared extends Variables> = {
  readonly [Name in keyof Declared]:
    | Declared[Name]["default"]
    | ReturnType<Declared[Name]["parse"]>;
};

/** Reads every one of `variables`; blank counts as not set. Throws SettingsError. */
export function readVariables<Declared extends Variables>(
  variables: Declared,
  environment: Environment,
): SettingsOf<Declared> {
  const settings = Object.entries(variables).map(([setting, variable]) => {
    const text = readText(variable.name, environment);
    return [setting, text === null ? variable.default : variable.parse(text)];
  });
  return Object.fromEntries(settings) as SettingsOf<Declared>;
}

/** The text of a variable without the white space around it; null if it is not set or blank. */
export function readText(name: string, environment: Environment): string | null {
  return environment.get(name)?.trim() || null;
}

/** A whole number within bounds, which are inclusive. */
export function integer(
  declared: Omit<Variable<number>, "parse"> & {
    /** Default: 1. */
    readonly minimum?: number;
    readonly maximum: number;
    /** Whether 0 is allowed besides the bounds, and means none. */
    readonly orNone?: true;
  },
): Variable<number> {
  const { name, minimum = 1, maximum, orNone = false } = declared;
  return {
    ...declared,
    parse(text) {
      const value = Number(text);
      const isWithin = value >= minimum && value <= maximum || orNone && value === 0;
      if (!/^[0-9]+$/.test(text) || !isWithin) {
        throw new SettingsError(
          `${name} must be ${orNone ? "0 or " : ""}a whole number from ${minimum} to ${maximum}.`,
        );
      }
      return value;
    },
  };
}

/** Only the words `true` and `false`. */
export function flag(declared: Omit<Variable<boolean>, "parse">): Variable<boolean> {
  const { name } = declared;
  return {
    ...declared,
    parse(text) {
      if (text !== "true" && text !== "false") {
        throw new SettingsError(`${name} must be true or false.`);
      }
      return text === "true";
    },
  };
}

/** A text that is not parsed here. The code that needs it parses it. */
export function text(name: string): Variable<string | null> {
  return { name, default: null, parse: (text) => text };
}

/** Parses an http or https origin, with or without a slash at its end. Throws SettingsError. */
export function parseOrigin(name: string, text: string): string {
  const url = URL.parse(text);
  if (
    url === null || !/^https?:$/.test(url.protocol) || url.pathname !== "/" || url.search !== ""
  ) {
    throw new SettingsError(
      `${name} must be an origin with nothing behind it, such as https://project.supabase.co.`,
    );
  }
  return url.origin;
}
