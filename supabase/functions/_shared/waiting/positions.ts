/** The positions that answers give as `latest`, and requests take. Their content is nobody's. */

/** The snapshot of the database that an inbox was read in. */
export const INBOX_POSITION = /^[0-9]{1,19}:[0-9]{1,19}:(?:[0-9]{1,19}(?:,[0-9]{1,19})*)?$/;

/** A place in the log of events. */
export const EVENTS_POSITION = /^[0-9]{1,19}\.[0-9]{1,18}$/;

/** What a request with another is told. */
export const POSITION_RULE = "Must be the latest of an earlier answer.";
