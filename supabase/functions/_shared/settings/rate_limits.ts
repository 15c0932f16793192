import { integer } from "./variables.ts";

/** The limits of one caller in one process of a function. */
export const RATE_LIMIT_VARIABLES = {
  rateLimitRequestsPerMinute: integer({
    name: "RATE_LIMIT_REQUESTS_PER_MINUTE",
    default: 30_000,
    minimum: 0,
    maximum: 1_000_000,
  }),
  rateLimitRequestsAtOnce: integer({
    name: "RATE_LIMIT_REQUESTS_AT_ONCE",
    default: 64,
    minimum: 0,
    maximum: 1_000_000,
  }),
  rateLimitAnonymousPerMinute: integer({
    name: "RATE_LIMIT_ANONYMOUS_PER_MINUTE",
    default: 600,
    minimum: 0,
    maximum: 1_000_000,
  }),
};
