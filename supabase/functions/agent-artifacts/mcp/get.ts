import * as z from "zod";
import {
  defineTool,
  type McpCall,
  type ToolAnswer,
  type ToolDefinition,
} from "../../_shared/operations/mcp/definition.ts";
import type { download } from "../download.ts";
import { artifactUri } from "./artifact_uri.ts";
import { downloadCommand, sandboxPath } from "./shell.ts";
import { downloadText, MAX_TEXT_BYTES } from "./small_text.ts";

type Download = z.output<typeof download>;

const additions = z.object({
  file: sandboxPath.optional()
    // Not the name that the owner chose: a file of that name may exist, or may be executed.
    .meta({ description: "The path that the `command` saves it to. Default: the artifact_id." }),
  inline: z.boolean().default(false)
    .meta({ description: "Return the content itself if it is text of up to 16 KiB." }),
});

/** Makes the tool for /open or /fetch. Both answer with a download. */
export function getTool(
  { name, summary, hidden = [], undescribed = [] }: {
    readonly name: "get" | "fetch";
    readonly summary: string;
    /** Fields of the operation that models do without: the list of tools is short. */
    readonly hidden?: readonly string[];
    readonly undescribed?: readonly string[];
  },
): ToolDefinition {
  return defineTool({
    name,
    answers: "size",
    summary,
    hidden,
    undescribed,
    description: "Run the command at once: its URL expires soon.",
    additions,
    async call(mcp, { given, added: { file, inline } }) {
      const allowed = await mcp.run<Download>(name === "get" ? "/open" : "/fetch", given);
      const text = inline ? await readSmallText(allowed, mcp) : null;
      return text === null
        ? byCommand(allowed, { file, refusal: inline ? refusalOf(allowed) : undefined })
        : inFull(allowed, text);
    },
  });
}

/** The file's text; null if it is too large, or no text. */
export async function readSmallText(allowed: Download, mcp: McpCall): Promise<string | null> {
  if (allowed.size > MAX_TEXT_BYTES) return null;
  return await downloadText(allowed, mcp.settings);
}

/** Why a download is not inline. */
export function refusalOf({ size }: Pick<Download, "size">): string {
  return size > MAX_TEXT_BYTES
    ? `It has ${size} bytes. At most ${MAX_TEXT_BYTES} go inline.`
    : "It is no text in UTF-8.";
}

function inFull({ url: _, expires_at: __, ...described }: Download, text: string): ToolAnswer {
  return { body: { ...described, text } };
}

function byCommand(
  allowed: Download,
  { file, refusal }: { readonly file: string | undefined; readonly refusal: string | undefined },
): ToolAnswer {
  const { artifact_id, key, mime, size } = allowed;
  // The link has the metadata; the command has the URL and the digest, which are long.
  const command = downloadCommand(allowed, file ?? artifact_id);
  return {
    body: { command, size, ...(refusal && { not_inline: refusal }) },
    link: { uri: artifactUri(artifact_id), name: key, mimeType: mime, size },
  };
}
