/** Times of the protocol in milliseconds, and numbers of messages (section 6 of the paper). */

export const REKEY_AFTER_TIME = 120_000;
export const REJECT_AFTER_TIME = 180_000;
export const REKEY_TIMEOUT = 5_000;
export const KEEPALIVE_TIMEOUT = 10_000;
export const REKEY_ATTEMPT_TIME = 90_000;
export const COOKIE_LIFETIME = 120_000;

/** The paper has 2^60 and 2^64 - 2^13 - 1, which are more than a number can count exactly. */
export const REKEY_AFTER_MESSAGES: number = 2 ** 48;
export const REJECT_AFTER_MESSAGES: number = 2 ** 53 - 1;

/**
 * The largest random addition to REKEY_TIMEOUT, in milliseconds. Without it, two sides that begin
 * at the same moment would also retry at the same moment, again and again.
 */
export const LARGEST_JITTER = 333;

/** The least time between two initiations of one peer. A faster one is a replay, or a fault. */
export const FASTEST_INITIATIONS = 20;
