import {
  type Command,
  defineCommandFor,
  defineGroup,
  type Definition,
  type Options,
} from "../command/command.ts";
import type { Output } from "../command/terminal/output.ts";

/** A command of `agentops`. */
export type Operation = Command<Output>;

type Declaration<Own extends Options> =
  & Omit<Definition<Own, Output>, "options">
  & { readonly options?: Own };

const define = defineCommandFor<Output>();

/** Defines a command of `agentops`. It infers the option types for `run`. */
export function defineOperation<const Own extends Options = Record<never, never>>(
  { options, ...declaration }: Declaration<Own>,
): Operation {
  return define({ ...declaration, options: options ?? {} as Own });
}

/** Defines a verb that has only subcommands. */
export function defineOperations(group: Parameters<typeof defineGroup<Output>>[0]): Operation {
  return defineGroup(group);
}
