import * as z from "zod";
import { AGENT_ID, TAG } from "../../../supabase/functions/_shared/identity/named_ids.ts";

/** The most ports that one rule may open. A longer list is better split into two rules. */
const MOST_PORTS = 64;
const MOST_ENTRIES = 1000;

/**
 * A name that begins with `tag:` is always a tag, so a misspelled tag is not taken for an agent.
 */
const name = z.string().refine(
  (text) => text.startsWith("tag:") ? TAG.test(text) : AGENT_ID.test(text),
  {
    error: "Must be a tag, such as tag:builder, or an agent_id.",
  },
);
const names = z.union([name, z.array(name).min(1).max(100)], {
  error: "Must be a tag such as tag:builder, an agent_id, or a list of 1 to 100 of them.",
}).transform((value) => typeof value === "string" ? [value] : value);

const NO_PORT =
  `Must be a port, 1 to 65535, or a range of at most ${MOST_PORTS} of them: "8000-8009".`;
const port = z.number().int().min(1).max(65535);
const range = z.string().regex(/^[1-9][0-9]{0,4}-[1-9][0-9]{0,4}$/).transform((text) => {
  const [first, last] = text.split("-").map(Number) as [number, number];
  const length = last - first + 1;
  if (length < 1 || length > MOST_PORTS || last > 65535) return [];
  return Array.from({ length }, (_, index) => first + index);
}).refine((ports) => ports.length > 0, { error: NO_PORT });
const ports = z.array(
  z.union([port.transform((number) => [number]), range], {
    error: NO_PORT,
  }),
).min(1).transform((lists) => Array.from(new Set(lists.flat())).sort((one, other) => one - other))
  .refine((list) => list.length <= MOST_PORTS, {
    error: `Must be at most ${MOST_PORTS} ports together. Write two rules.`,
  });
const proto = z.enum(["tcp", "udp"], { error: "Must be tcp or udp." });

const rule = z.strictObject({ from: names, to: names, ports, proto });
const test = z.strictObject({
  from: name,
  to: name,
  port,
  proto,
  expect: z.enum(["accept", "deny"], { error: "Must be accept or deny." }),
}).refine(({ from, to }) => from !== to || from.startsWith("tag:"), {
  path: ["to"],
  error: "Must be another agent: none has a rule with itself.",
});

/**
 * A policy file, and what it is parsed into. Unknown fields are refused: they may be misspelled.
 */
export const policyFile = z.strictObject({
  rules: z.array(rule).max(MOST_ENTRIES),
  tests: z.array(test).max(MOST_ENTRIES).default([]),
});

export type PolicyRule = z.output<typeof rule>;
export type PolicyTest = z.output<typeof test>;
