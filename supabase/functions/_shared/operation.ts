import type * as z from "zod";
import type { CallerArgument } from "./caller.ts";
import type { CallDatabase } from "./database.ts";
import type { ErrorCode } from "./errors.ts";
import type { Settings } from "./settings.ts";

/** What operations are made from: the configuration, and what they may call. */
export interface Platform {
  readonly settings: Settings;
  readonly callDatabase: CallDatabase;
}

/** What a handler is given of one request. */
export interface OperationContext<Input> {
  /** The body, as the operation's schema parsed it. */
  readonly input: Input;
  /** Who sent it, as the first argument of every SQL function. */
  readonly caller: CallerArgument;
  readonly request: Request;
}

/** What one path of the wire contract is: who may call it, what it takes and gives, and what it does. */
export interface Operation {
  readonly summary: string;
  /** Who may call, for readers and for OpenAPI; "anyone" also switches identification off. */
  readonly access: string;
  readonly request: z.ZodType;
  readonly response: z.ZodType;
  /** The body of a 202, where there can be one: not done yet, send the same request again. */
  readonly accepted?: z.ZodType;
  /** The errors of its own, besides those that every operation has. */
  readonly errors: readonly ErrorCode[];
  /** Answers with a JSON object (status 200), or with a Response where another status or type is needed. */
  readonly handle: (context: OperationContext<unknown>) => Promise<object>;
}

/** The module of an operation. */
export interface OperationModule {
  readonly createOperation: (platform: Platform) => Operation;
}

/**
 * The operations of a function by their paths. Each module is loaded by the first request for its path: a cold start
 * pays for what it serves, and no more. The specifiers are literals, so that what is deployed has every module.
 */
export type Operations = Readonly<Record<`/${string}`, () => Promise<OperationModule>>>;

interface OperationDefinition<Request extends z.ZodType, Response extends z.ZodType>
  extends Omit<Operation, "request" | "response" | "handle"> {
  readonly request: Request;
  readonly response: Response;
  readonly handle: (
    context: OperationContext<z.output<Request>>,
  ) => Promise<z.output<Response> & object | globalThis.Response>;
}

/** Defines an operation whose handler is typed by its schemas. */
export function defineOperation<Request extends z.ZodType, Response extends z.ZodType>(
  definition: OperationDefinition<Request, Response>,
): Operation {
  // The pipeline passes to `handle` only what `request` has parsed, which is what makes this cast right.
  return definition as unknown as Operation;
}
