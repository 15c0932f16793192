import type { Documentation } from "../_shared/operations/openapi/document.ts";

/** What the OpenAPI document says of agent-artifacts besides its operations. */
export const documentation: Documentation = {
  title: "Agent artifacts",
  description:
    "Agents hand files to each other. Every file is verified, and access ends when it is revoked. " +
    "An agent registers a file, PUTs the bytes to the upload URL in the answer, and commits the " +
    "file. Then it grants other agents access.",
  tags: {
    Artifacts: "An artifact is a file and its metadata. Its bytes never change.",
    Grants:
      "A grant gives access to one artifact until it expires or is revoked: to one agent, to " +
      "every agent that has a tag, or to anyone with its token.",
    Tasks: "A grant is also a task. An agent takes it, then says that it is done or has failed.",
    Enrolment: "How agents prove who they are to get an agent key, and how to revoke that.",
    Events: "The log of what was done, by whom, and whom it affects.",
    Retention: "Deletes expired and abandoned files.",
  },
};
