import { integer } from "./variables.ts";

/** The limits of one caller, and of one enrolment's agents, in one process of a function. */
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
  // Four times as much as one caller's: a fleet may do more, but not as much as it has agents.
  rateLimitEnrolmentPerMinute: integer({
    name: "RATE_LIMIT_ENROLMENT_PER_MINUTE",
    default: 120_000,
    minimum: 0,
    maximum: 10_000_000,
  }),
  rateLimitEnrolmentAtOnce: integer({
    name: "RATE_LIMIT_ENROLMENT_AT_ONCE",
    default: 256,
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
