/** Times of the protocol in milliseconds, and numbers of messages (section 6 of the paper). */

export const REKEY_AFTER_TIME = 120_000;
export const REJECT_AFTER_TIME = 180_000;
export const REKEY_TIMEOUT = 5_000;
export const KEEPALIVE_TIMEOUT = 10_000;
export const REKEY_ATTEMPT_TIME = 90_000;
export const COOKIE_LIFETIME = 120_000;

/** The paper's are 2^60 and 2^64 - 2^13 - 1, beyond what a number counts exactly. */
export const REKEY_AFTER_MESSAGES: number = 2 ** 48;
export const REJECT_AFTER_MESSAGES: number = 2 ** 53 - 1;

/** Added to REKEY_TIMEOUT at random, so that two sides that begin at once do not go on so. */
export const LARGEST_JITTER = 333;

/** Of one peer: a faster one is a replay, or a fault. */
export const FASTEST_INITIATIONS = 20;
