import type * as z from "zod";
import { ServiceError } from "../../_shared/request/errors.ts";
import type {
  ListedResource,
  McpCall,
  ResourceDefinition,
} from "../../_shared/operations/mcp/definition.ts";
import type { download } from "../download.ts";
import type { Artifact } from "../fields.ts";
import { artifactUri, openRequestOf, URI_TEMPLATES } from "./artifact_uri.ts";
import { readSmallText, refusalOf } from "./get.ts";
import { MAX_TEXT_BYTES } from "./small_text.ts";

interface OwnedPage {
  readonly artifacts: readonly Artifact[];
  readonly next_cursor: string | null;
}

interface GrantedPage {
  readonly grants: readonly (
    & Pick<Artifact, "artifact_id" | "key" | "mime" | "size" | "expires_at">
    & { readonly from_agent: string }
  )[];
  readonly next_cursor: string | null;
}

type Page = Awaited<ReturnType<ResourceDefinition["list"]>>;

const WHAT_IS_READ = "Only texts of up to 16 KiB can be read here; get downloads any file.";

/** An agent's own artifacts, followed by those that were granted to it. */
export const resources: ResourceDefinition = {
  templates: [
    {
      uriTemplate: URI_TEMPLATES.byId,
      name: "artifact",
      description: `An artifact, whose content never changes. ${WHAT_IS_READ}`,
    },
    {
      uriTemplate: URI_TEMPLATES.byKey,
      name: "key",
      description: `The current artifact of an agent under a name (\`key\`). ${WHAT_IS_READ}`,
    },
  ],

  async list(mcp, cursor) {
    const [of, position] = cursor === null ? ["owned", ""] : partsOf(cursor);
    if (of === "granted") return await listGranted(mcp, position);
    const owned = await listOwned(mcp, position);
    if (owned.nextCursor !== null) return owned;
    const granted = await listGranted(mcp, "");
    return {
      resources: [...owned.resources, ...granted.resources],
      nextCursor: granted.nextCursor,
    };
  },

  async read(mcp, uri) {
    const request = openRequestOf(uri);
    if (request === null) return null;
    const upToWhatIsRead = { ...request, max_size: MAX_TEXT_BYTES };
    const allowed = await mcp.run<z.output<typeof download>>("/open", upToWhatIsRead)
      .catch((error: unknown) => {
        if (!(error instanceof ServiceError)) throw error;
        if (error.code === "artifact_not_found") return null;
        if (error.code === "limit_exceeded") throw notRead(error.details as { size: number });
        throw error;
      });
    if (allowed === null) return null;
    const text = await readSmallText(allowed, mcp);
    if (text !== null) return { text, mimeType: allowed.mime };
    throw notRead(allowed);
  },
};

function notRead(refused: { readonly size: number }): ServiceError {
  return new ServiceError("invalid_request", {
    message: `${refusalOf(refused)} The tool get has the command that downloads it.`,
  });
}

/** Splits `owned:<position>` or `granted:<position>`: the operation's `next_cursor`. */
function partsOf(cursor: string): ["owned" | "granted", string] {
  const [, of, position] = /^(owned|granted):(.+)$/s.exec(cursor) ?? [];
  if (position === undefined) {
    throw new ServiceError("invalid_request", {
      message: "The cursor must be the nextCursor of an earlier answer.",
    });
  }
  return [of as "owned" | "granted", position];
}

async function listOwned({ run }: McpCall, position: string): Promise<Page> {
  const page = await run<OwnedPage>("/list", from(position));
  return {
    resources: page.artifacts.map((artifact) =>
      listed(artifact, `Your own, until ${artifact.expires_at}.`)
    ),
    nextCursor: page.next_cursor && `owned:${page.next_cursor}`,
  };
}

async function listGranted({ run }: McpCall, position: string): Promise<Page> {
  const page = await run<GrantedPage>("/inbox", from(position));
  return {
    resources: page.grants.map((grant) =>
      listed(grant, `Granted by ${grant.from_agent}, until ${grant.expires_at}.`)
    ),
    nextCursor: page.next_cursor && `granted:${page.next_cursor}`,
  };
}

function from(position: string): object {
  return position === "" ? {} : { cursor: position };
}

function listed(
  { artifact_id, key, mime, size }: Pick<Artifact, "artifact_id" | "key" | "mime" | "size">,
  description: string,
): ListedResource {
  return { uri: artifactUri(artifact_id), name: key, description, mimeType: mime, size };
}
