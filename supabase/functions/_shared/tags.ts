/** A tag of an agent, by which grants and the policy name many agents at once. */
export const TAG = /^tag:[a-z0-9][a-z0-9-]{0,62}$/;
