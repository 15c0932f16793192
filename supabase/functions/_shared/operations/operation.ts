import type * as z from "zod";
import type { CallerArgument } from "../identity/callers/caller.ts";
import type { Database } from "../data/database.ts";
import type { ErrorCode } from "../request/errors.ts";
import type { Slot } from "../request/limits/rate_limits.ts";
import type { PlatformSettings } from "../request/settings/platform.ts";

/** What operations are made from: the settings of their function, and what they may call. */
export interface Platform<Settings extends PlatformSettings = PlatformSettings> extends Database {
  readonly settings: Settings;
}

/** What a handler is given of one request. */
export interface OperationContext<Input> {
  /** The body, as the operation's schema parsed it. */
  readonly input: Input;
  /** The caller, as the first argument of every SQL function. */
  readonly caller: CallerArgument;
  readonly request: Request;
  /** The request's place in its caller's limit of requests at once. Freed while it only waits. */
  readonly slot: Slot;
}

/**
 * What a call does to the stored state. `reads` changes nothing. `adds` adds something with each
 * call. `sets` sets something, and `replaces` replaces or ends something: for both, the same call
 * again changes nothing more. `renews` replaces something with each call.
 */
export type Effect = "reads" | "adds" | "sets" | "replaces" | "renews";

/** One path of the wire contract: who may call it, what it takes and gives, and what it does. */
export interface Operation {
  /** One line. */
  readonly summary: string;
  /** What a caller has to know beyond the summary and the schemas. */
  readonly description?: string;
  /**
   * The operation's name in the OpenAPI document. Generators name a function after it. Default: the
   * path's words. To be given if JavaScript already uses that name.
   */
  readonly operationId?: string;
  /** Which group of the OpenAPI document it belongs to. */
  readonly tag: string;
  /** Who may call it, for readers: the SQL function decides. The operator may call everything. */
  readonly callers: string;
  readonly effect: Effect;
  /** Whether the pipeline requires a credential in the headers. */
  readonly identification: "required" | "none";
  /** For an operation without identification: what the rate limits count requests by. */
  readonly limitedBy?: (input: unknown) => string;
  /** Programs call it, so it is no MCP tool. A conversation gets the same news from other tools. */
  readonly isForPrograms?: true;
  /** Only this project's own commands call it. The OpenAPI document leaves it out. */
  readonly isUnlisted?: true;
  readonly request: z.ZodType;
  /** For the OpenAPI document, if the fields' own examples make no sense together. */
  readonly requestExample?: object;
  readonly response: z.ZodType;
  /** The body of a 202, if there can be one: not done yet, send the same request again. */
  readonly accepted?: z.ZodType;
  /** The text of a 200 to a request whose `accept` asks for text, if the handler supports that. */
  readonly plainText?: z.ZodType;
  /** The operation's errors, besides those that every operation has. */
  readonly errors: readonly ErrorCode[];
  /**
   * Returns a JSON object for status 200. Returns a Response for another status or type, or if it
   * has the object's bytes.
   */
  readonly handle: (context: OperationContext<unknown>) => Promise<object>;
}

/** The module of an operation. */
export interface OperationModule<Settings extends PlatformSettings> {
  readonly createOperation: (platform: Platform<Settings>) => Operation;
}

/**
 * The operations of a function by their paths. The first request for a path loads its module: a
 * cold start pays for what it serves and no more. The specifiers are literals, so that every module
 * is deployed.
 */
export type Operations<Settings extends PlatformSettings> = Readonly<
  Record<`/${string}`, () => Promise<OperationModule<Settings>>>
>;

interface OperationDefinition<RequestSchema extends z.ZodType, ResponseSchema extends z.ZodType>
  extends Omit<Operation, "request" | "response" | "limitedBy" | "handle"> {
  readonly request: RequestSchema;
  readonly response: ResponseSchema;
  readonly limitedBy?: (input: z.output<RequestSchema>) => string;
  readonly handle: (
    context: OperationContext<z.output<RequestSchema>>,
  ) => Promise<z.output<ResponseSchema> & object | Response>;
}

/** Defines an operation whose handler is typed by its schemas. */
export function defineOperation<RequestSchema extends z.ZodType, ResponseSchema extends z.ZodType>(
  definition: OperationDefinition<RequestSchema, ResponseSchema>,
): Operation {
  // The pipeline passes to its functions only what `request` has parsed, which makes this cast
  // right.
  return definition as unknown as Operation;
}
