/** An agent's identifier, as requests may spell it and configurations may name it. */
export const AGENT_ID = /^[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}$/;
