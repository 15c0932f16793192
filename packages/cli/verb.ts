import { type Command, type DefineCommand, defineCommandFor } from "../command/command.ts";
import type { Context } from "./context.ts";

/** A verb of the command line. */
export type Verb = Command<Context>;

export const defineVerb: DefineCommand<Context> = defineCommandFor<Context>();
