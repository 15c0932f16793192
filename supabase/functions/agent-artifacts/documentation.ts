import type { Documentation } from "../_shared/openapi/document.ts";

/** What the OpenAPI document says of agent-artifacts beside its operations. */
export const documentation: Documentation = {
  title: "Agent artifacts",
  description:
    "Hands files from agent to agent: the bytes are verified, and access ends when it is revoked. " +
    "An agent registers a file, PUTs its bytes to the URL that it is given, and commits it; " +
    "then it grants other agents access.",
  tags: {
    Artifacts: "A file and its metadata. An artifact never changes its bytes.",
    Grants: "Access of one agent to one artifact, until it expires or is revoked.",
    Events: "What happened, to whom and by whom.",
    Retention: "Removal of what has expired or was abandoned.",
  },
};
