import type { AgentFiles } from "../../agent-files/agent_files.ts";
import type { GivenGrant } from "../../agent-files/contract/types.ts";
import { AgentError } from "../../agent-files/errors/agent_error.ts";
import { UsageError } from "../../command/usage_error.ts";
import { plain } from "../../command/terminal/output.ts";
import { defineVerb, type Verb } from "../verb.ts";
import { liveLinks } from "./live_links.ts";

export const unlink: Verb = defineVerb({
  summary: "End a link, by the id that `agentfiles links` shows, or by its file.",
  positionals: {
    usage: "LINK|ARTIFACT|KEY",
    least: 1,
    most: 1,
    wrong: "Name one link or file.",
  },
  example: "agentfiles unlink plans/house.txt --all",
  options: { all: { type: "boolean", help: "end every link of the file" } },
  async run({ positionals: [named], values }, context) {
    if (/^(?:https?:|g_[A-Za-z0-9_-]{43}$)/.test(named!)) {
      throw new UsageError(
        "Name the link by its id or its file: `agentfiles links` shows both.",
      );
    }
    const files = await context.files();
    const found: GivenGrant[] = [];
    for await (const link of liveLinks(files, named)) found.push(link);
    if (found.length === 0) throw linkNotFound(named!);
    if (found.length > 1 && !values.all) throw severalLinks(named!, found);
    for (const link of found) await end(link, files, context);
  },
});

async function end(
  { grant_id, artifact_id, key }: GivenGrant,
  files: AgentFiles,
  { output }: Parameters<Verb["run"]>[1],
): Promise<void> {
  const { revoked } = await files.revoke({ grant_id });
  await output.value(
    { grant_id, artifact_id, key, revoked },
    () => `${grant_id}  ${plain(key)}  ended`,
  );
}

function linkNotFound(named: string): AgentError {
  return new AgentError({
    code: "grant_not_found",
    message: `You have no live link named ${plain(named)}.`,
    status: 404,
  });
}

function severalLinks(named: string, links: readonly GivenGrant[]): UsageError {
  const ids = links.map(({ grant_id }) => grant_id).join(", ");
  return new UsageError(
    `${plain(named)} has ${links.length} links. Name one (${ids}), or add --all.`,
  );
}
