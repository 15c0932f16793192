/** How every timestamp in an answer is written: ISO 8601, UTC, with milliseconds and Z. */
export const ISO_TIMESTAMP = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;
