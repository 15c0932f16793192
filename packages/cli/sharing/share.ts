import { assertGrantees } from "../../agent-files/transfer/names.ts";
import { UsageError } from "../../command/usage_error.ts";
import { defineVerb, type Verb } from "../verb.ts";
import {
  FILE_AND_AGENTS,
  granteesOf,
  HAND_OVER_OPTIONS,
  handOverOf,
  SHARING_OPTIONS,
  sharingOf,
  TO_TAG_OPTION,
} from "./options.ts";
import { tellUnknown } from "./unknown.ts";
import { plain } from "../../command/terminal/output.ts";

export const share: Verb = defineVerb({
  summary: "Give agents access to a file.",
  positionals: FILE_AND_AGENTS,
  example: "agentfiles share plans/house.txt builder --ttl 2\n" +
    "agentfiles share plans/house.txt --to-tag tag:builder --deliver one --note 'Build it.'",
  options: {
    "to-tag": TO_TAG_OPTION,
    ...SHARING_OPTIONS,
    ...HAND_OVER_OPTIONS,
    "idempotency-key": {
      type: "string",
      value: "KEY",
      help: "for 24 hours, the same command with this key gives no second grant",
    },
    "show-token": {
      type: "boolean",
      help: "also show the grant token; anyone who has it can use it",
    },
  },
  async run({ positionals: [target, ...agents], values }, context) {
    const { "idempotency-key": idempotencyKey } = values;
    const sharing = {
      ...sharingOf(values),
      ...handOverOf(values),
      ...(idempotencyKey !== undefined && { idempotencyKey }),
    };
    const grantees = granteesOf(agents, values["to-tag"]);
    if (idempotencyKey !== undefined && grantees.length > 1) {
      throw new UsageError("--idempotency-key is for one agent or tag.");
    }
    assertGrantees({ to: agents, toTags: values["to-tag"] });
    const files = await context.files();
    for (const { name, grantee } of grantees) {
      const { token, ...grant } = await files.share(target!, grantee, sharing);
      tellUnknown([grant]);
      const shown = values["show-token"] ? { ...grant, token } : grant;
      await context.output.value(
        shown,
        ({ grant_id }) => `${grant_id}  ${plain(name)}${values["show-token"] ? `  ${token}` : ""}`,
      );
    }
  },
});
