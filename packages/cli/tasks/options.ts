/** The options of `work` and `take`. */
export const CHOICE_OPTIONS = {
  from: { type: "string", value: "AGENT", help: "only files granted by this agent" },
  prefix: {
    type: "string",
    value: "PREFIX",
    help: "only files whose names begin with this",
  },
} as const;

/** The fields of a request that choose among the tasks. */
export function choiceOf(
  { from, prefix }: { readonly from?: string | undefined; readonly prefix?: string | undefined },
) {
  return {
    ...(from !== undefined && { fromAgent: from }),
    ...(prefix !== undefined && { prefix }),
  };
}
