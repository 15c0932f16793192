/**
 * The positions that answers give as `latest`, and requests send back: the epoch of the database,
 * and a place in a feed. To callers they are opaque.
 */

/** The place in an inbox is the snapshot of the database that it was read in. */
export const INBOX_POSITION =
  /^[0-9a-f]{12}-[0-9]{1,19}:[0-9]{1,19}:(?:[0-9]{1,19}(?:,[0-9]{1,19})*)?$/;

/** A place in the log of events. */
export const EVENTS_POSITION = /^[0-9a-f]{12}-[1-9][0-9]{0,18}\.[0-9]{1,18}$/;

// Positions of earlier deployments have no epoch. They are accepted, and answered as expired.
export const SENT_INBOX_POSITION =
  /^(?:[0-9a-f]{12}-)?[0-9]{1,19}:[0-9]{1,19}:(?:[0-9]{1,19}(?:,[0-9]{1,19})*)?$/;
// No leading zero: PostgreSQL would read the digits of a transaction as octal.
export const SENT_EVENTS_POSITION = /^(?:[0-9a-f]{12}-)?[1-9][0-9]{0,18}\.[0-9]{1,18}$/;

/** The message for a request with any other text. */
export const POSITION_RULE = "Must be the latest of an earlier answer.";
