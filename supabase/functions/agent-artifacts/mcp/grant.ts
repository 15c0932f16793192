import * as z from "zod";
import { defineTool, type TaskDefinition } from "../../_shared/operations/mcp/definition.ts";
import { refusalOf } from "../../_shared/request/reading/invalid_request.ts";
import { begunBy, type Given, taskOf } from "./given_task.ts";

interface Granted {
  readonly token: string;
  readonly grant_id: string;
  readonly expires_at: string;
}

/** Models read `unknown_recipient` in the answer. */
const FOR_PROGRAMS = ["known_only"];

/** What hand_over is for. */
const OF_TASKS = ["note", "reply_to", "deliver", "max_attempts", "idempotency_key"];

const DAYS_RULE = "Must be a number of days from 1 to 365.";

/** A model knows how long a grant is to last, but rarely today's date. */
const expiresInDays = z.int(DAYS_RULE).min(1, DAYS_RULE).max(365, DAYS_RULE).optional()
  .meta({ description: "In place of `expires_at`." });

/** `given` with the `expires_at` that `expires_in_days` means. Throws invalid_request. */
function withEnd(given: object, expires_in_days: number | undefined): object {
  const path = "expires_in_days";
  if (expires_in_days === undefined) {
    if ("expires_at" in given) return given;
    throw refusalOf([{ path, message: "Required, unless expires_at is sent." }]);
  }
  if ("expires_at" in given) {
    throw refusalOf([{ path, message: "Must not be sent with expires_at." }]);
  }
  return {
    ...given,
    expires_at: new Date(Date.now() + expires_in_days * 86_400_000).toISOString(),
  };
}

/** /grant, without the token by default: it is a secret that most conversations do not need. */
export const grantTool = defineTool({
  name: "grant",
  answers: "grant_id",
  summary: "Give an agent, or all with a tag, access to an artifact, through their inboxes.",
  description: "Needs `to_agent` or `to_tag` (or `show_token`), and an end.",
  undescribed: ["to_agent", "to_tag"],
  hidden: [...OF_TASKS, ...FOR_PROGRAMS],
  additions: z.object({
    expires_in_days: expiresInDays,
    show_token: z.boolean().default(false).meta({
      description: "Also return the token: readers of this conversation then have it.",
    }),
  }),
  dispensable: ["expires_at"],
  async call({ run }, { given, added: { show_token, expires_in_days } }) {
    if (!show_token && !("to_agent" in given) && !("to_tag" in given)) {
      const message = "Required, unless to_tag is sent or show_token is true.";
      throw refusalOf([{ path: "to_agent", message }]);
    }
    const { token, ...granted } = await run<Granted>("/grant", withEnd(given, expires_in_days));
    return { body: show_token ? { ...granted, token } : granted };
  },
});

/** A grant ends with its artifact at the latest. */
const AS_LONG_AS_THE_ARTIFACT = "9999-12-31T23:59:59Z";

/** /grant as work, with what the grantee has to know. */
export const handOverTool = defineTool({
  name: "hand_over",
  answers: "grant_id",
  summary: "Give an artifact to an agent as a task, or to those with a tag.",
  description: "Needs `to_agent` or `to_tag`. `grants` shows what became of it.",
  additions: z.object({}),
  dispensable: ["expires_at"],
  undescribed: ["to_agent", "to_tag"],
  hidden: ["expires_at", "max_downloads", "idempotency_key", ...FOR_PROGRAMS],
  async call({ run }, { given }) {
    if (!("to_agent" in given) && !("to_tag" in given)) {
      throw refusalOf([{ path: "to_agent", message: "Required, unless to_tag is sent." }]);
    }
    const request = { expires_at: AS_LONG_AS_THE_ARTIFACT, ...given };
    // Nobody needs the token: the grantee takes the task with its own credential.
    const { token: _, ...granted } = await run<Granted>("/grant", request);
    return { body: granted };
  },
});

/** What hand_over began, as a task that the client's host polls. */
export const tasks: TaskDefinition = {
  tool: "hand_over",
  begun: begunBy,
  async get({ run }, grant_id) {
    const { grants } = await run<{ readonly grants: readonly Given[] }>("/grants", { grant_id });
    return grants[0] === undefined ? null : taskOf(grants[0]);
  },
  async end({ run }, grant_id) {
    await run("/revoke", { grant_id });
  },
};

/** /grant to a person, who opens the URL in a browser. */
export const linkTool = defineTool({
  name: "link",
  answers: "url",
  summary: "Make a URL with which a person downloads an artifact.",
  description: "Anyone who has the URL or reads this conversation has the file.",
  additions: z.object({ expires_in_days: expiresInDays }),
  dispensable: ["expires_at"],
  hidden: ["to_agent", "to_tag", ...OF_TASKS, ...FOR_PROGRAMS],
  undescribed: ["max_downloads"],
  async call({ run, urlOf }, { given, added: { expires_in_days } }) {
    const path = ["to_agent", "to_tag"].find((field) => field in given);
    if (path !== undefined) {
      const message = "A link is for a person. Use grant for an agent.";
      throw refusalOf([{ path, message }]);
    }
    const { token, grant_id, expires_at } = await run<Granted>(
      "/grant",
      withEnd(given, expires_in_days),
    );
    return { body: { url: urlOf(`/d/${token}`), grant_id, expires_at } };
  },
});
