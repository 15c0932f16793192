import * as z from "zod";
import { defineTool } from "../../_shared/operations/mcp/definition.ts";
import { wellFormedText } from "../../_shared/request/fields.ts";
import { refusalOf } from "../../_shared/request/reading/invalid_request.ts";
import type { Artifact } from "../fields.ts";
import { type Committed, grantees, handOver } from "./commit.ts";
import { sandboxPath, uploadCommand } from "./shell.ts";
import { MAX_TEXT_BYTES, sha256Of, uploadBytes } from "./small_text.ts";

interface Registered extends Artifact {
  readonly upload_url: string;
}

const DEFAULT_TTL_DAYS = 7;

const additions = z.object({
  text: wellFormedText
    .refine(
      (text) => new TextEncoder().encode(text).byteLength <= MAX_TEXT_BYTES,
      `Must have at most ${MAX_TEXT_BYTES} bytes of UTF-8. Put a larger file by its \`command\`.`,
    )
    .optional()
    .meta({
      description: "The whole content, up to 16 KiB.",
    }),
  file: sandboxPath.default("FILE")
    .meta({ description: "Its path, for the `command`." }),
  to: grantees.meta({ description: "With `text`: agents to grant it to." }),
});

/** A file that is not uploaded yet cannot be granted, and the tool must not seem to do it. */
function refuseTo(to: readonly string[]): void {
  if (to.length === 0) return;
  throw refusalOf([{ path: "to", message: "Only with text. Without it, send `to` to commit." }]);
}

/**
 * Some hosts send an empty text for what is not set. With a size, it must not become an empty file,
 * which would supersede the current one.
 */
function refuseEmpty(given: { readonly size?: unknown }): void {
  if (given.size === undefined || given.size === 0) return;
  throw refusalOf([{
    path: "text",
    message: "Is empty, but size is not 0. Leave one of them out.",
  }]);
}

/** /register. For a text, also the upload, /commit and /grant. */
export const putTool = defineTool({
  name: "put",
  answers: "artifact_id",
  summary:
    "Put a file under a name (`key`): returns the command to upload it, or takes a small text.",
  description:
    "Run the command at once, then call commit. `text` is committed at once, and needs no `size`. " +
    "A later file of that name supersedes it. Default `mime`: text/plain for a text, " +
    `otherwise application/octet-stream. Default \`ttl_days\`: ${DEFAULT_TTL_DAYS}.`,
  // A text is also committed, and supersedes the current artifact under its key.
  effect: "renews",
  additions,
  dispensable: ["mime", "size", "ttl_days"],
  undescribed: ["key", "mime"],
  // For programs: the list of tools is short.
  hidden: ["metadata", "keep_versions", "end_grants"],
  async call({ run, settings }, { given, added: { text, file, to } }) {
    if (text === undefined) {
      refuseTo(to);
      const { artifact_id, upload_url } = await run<Registered>("/register", {
        mime: "application/octet-stream",
        ttl_days: DEFAULT_TTL_DAYS,
        ...given,
      });
      // `upload_url` is left out: it is long, and the command has it.
      const command = uploadCommand(file, upload_url);
      return { body: { artifact_id, command } };
    }
    if (text === "") refuseEmpty(given);
    const bytes = new TextEncoder().encode(text);
    const { artifact_id, mime, upload_url } = await run<Registered>("/register", {
      mime: "text/plain",
      ttl_days: DEFAULT_TTL_DAYS,
      ...given,
      size: bytes.byteLength,
    });
    try {
      await uploadBytes(upload_url, { bytes, mime, settings });
    } catch (error) {
      // The caller does not know the artifact, which would count against its limits until a sweep.
      await run("/delete", { artifact_id }).catch(() => {});
      throw error;
    }
    const sha256 = sha256Of(bytes);
    const committed = await run<Committed>("/commit", { artifact_id, sha256 });
    // Not verified yet: commit has to be called, with the digest and the agents.
    if (committed.state === "verifying") return { body: { ...committed, sha256 } };
    await handOver(run, committed, to);
    return { body: { ...committed, ...(to.length > 0 && { granted_to: to }) } };
  },
});
