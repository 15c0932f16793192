import * as z from "zod";
import { formatEndpoint, parseEndpoint } from "../addresses/endpoint.ts";
import { agentId } from "../../request/fields.ts";

/** What a heartbeat may report of neighbours, and the parameter that SQL functions get for it. */

const MAX_PATHS = 64;

const AGE_RULE = "Must be a whole number of seconds from 0 on, or null.";
/** Some thirty years. */
const MAX_AGE_SECONDS = 1_000_000_000;

const ADDRESS_RULE = "Must be <address>:<port>, an IPv6 address in brackets.";

/**
 * An address as WireGuard shows it. It may be useless to other hosts, such as a loopback address if
 * a relay runs on the same machine. Such an address becomes null, so that it does not fail the
 * heartbeat.
 */
const observedAddress = z.string()
  .regex(
    /^(?:\[[0-9A-Fa-f:.]{2,45}(?:%[0-9A-Za-z_=+.-]{1,15})?\]|[0-9.]{7,15}):[1-9][0-9]{0,4}$/,
    ADDRESS_RULE,
  )
  .meta({ examples: ["203.0.113.7:51820"] })
  .transform((text) => {
    const parsed = parseEndpoint(text, []);
    return parsed.ok && parsed.value.kind !== "name" ? parsed.value : null;
  });

const path = z.strictObject({
  agent_id: agentId.meta({ description: "The neighbour.", examples: ["builder"] }),
  handshake_age_seconds: z.int(AGE_RULE).min(0, AGE_RULE).max(MAX_AGE_SECONDS, AGE_RULE).nullable()
    .meta({
      description: "How long ago the last handshake was; null: there was none.",
      examples: [42],
    }),
  endpoint: observedAddress.nullable().meta({
    description: "Where the host sees the neighbour: the source of its packets. Null, or an " +
      "address that other hosts cannot use: unknown.",
  }),
  via: z.enum(["direct", "relay", "none"], "Must be direct, relay or none.")
    .meta({ description: "How packets travel; `none`: no path works." }),
});

/** Agents that are no neighbours cause no error, because a rule may have ended since. */
export const paths = z.array(path).max(MAX_PATHS, `Must have at most ${MAX_PATHS} paths.`)
  .refine(
    (paths) => new Set(paths.map(({ agent_id }) => agent_id)).size === paths.length,
    "Must name each agent once.",
  )
  .optional()
  .meta({
    description: "What the host sees of its neighbours now. Earlier reports on others are kept " +
      "until they are too old. Agents that share no active rule with it are ignored.",
  });

/** The paths as the SQL functions take them; an empty object if the request has none. */
export function pathsParameter(
  reported: z.output<typeof paths>,
): { readonly paths?: readonly object[] } {
  if (reported === undefined) return {};
  return {
    paths: reported.map(({ endpoint, ...path }) => ({
      ...path,
      endpoint: endpoint && formatEndpoint(endpoint),
      endpoint_ip: endpoint && endpoint.host,
    })),
  };
}
