import * as z from "zod";
import { CommandError } from "../../command/command_error.ts";
import { readNamedFile } from "../reads/named_file.ts";
import type { TagsOfAgents } from "./policy_tests.ts";

const agent = z.object({ agent_id: z.string(), tags: z.array(z.string()) });

/**
 * The agents and their tags, as `agentops agent list --all --json` prints them: one object per
 * line, or a list of them. Throws CommandError.
 */
export async function readAgentsFile(file: string): Promise<TagsOfAgents> {
  const text = (await readNamedFile(file)).trim();
  const values = text.startsWith("[")
    ? parsed(text, file)
    : text.split("\n").filter((line) => line.trim() !== "").map((line) => parsed(line, file));
  const agents = z.array(agent).safeParse(values);
  if (!agents.success) throw wrong(file);
  return Object.fromEntries(agents.data.map(({ agent_id, tags }) => [agent_id, tags]));
}

function parsed(text: string, file: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw wrong(file);
  }
}

function wrong(file: string): CommandError {
  return new CommandError(
    `${file} is not what \`agentops agent list --all --json\` prints: agents with their tags.`,
  );
}
