import type { AppDescription } from "../app_description.ts";
import type { Link } from "../operations/link.ts";
import { madeOnce } from "../operations/made_once.ts";
import type { Operation } from "../operations/operation.ts";
import type { PlatformSettings } from "../settings/platform.ts";
import type { CallDatabase } from "../upstream/database.ts";
import { AddressLimits } from "./address_limits.ts";
import { answerHealth } from "./health.ts";

/**
 * What anybody may ask for, by GET. Requests are counted by their addresses, because nothing else
 * is known of who sends them. Throws rate_limited, and what the answer throws.
 */
export function createOpenPaths<Settings extends PlatformSettings>(
  { description, settings, callDatabase, operations, links }: {
    readonly description: AppDescription<Settings>;
    readonly settings: Settings;
    readonly callDatabase: CallDatabase;
    readonly operations: ReadonlyMap<string, () => Promise<Operation>>;
    readonly links: ReadonlyMap<string, () => Promise<Link>>;
  },
): Readonly<Record<"/health" | "/openapi.json", (request: Request) => Promise<Response>>> {
  const limits = new AddressLimits(settings);
  // It takes as long to make as a hundred requests to answer.
  const document = madeOnce(async () => {
    const { writeOpenApiDocument } = await import("../openapi/document.ts");
    return await writeOpenApiDocument({ ...description, operations, links });
  });

  async function answerWithin(
    request: Request,
    answer: () => Promise<Response>,
  ): Promise<Response> {
    const slot = limits.enter(request);
    try {
      return await answer();
    } finally {
      slot.leave();
    }
  }

  return {
    "/health": (request) =>
      answerWithin(request, async () => {
        const { variables, checkHealth } = description;
        const { headers } = request;
        return Response.json(
          await answerHealth({ headers, settings, variables, checkHealth, callDatabase }),
        );
      }),
    "/openapi.json": (request) =>
      answerWithin(request, async () => {
        const headers = { "content-type": "application/json" };
        return new Response(await document(), { headers });
      }),
  };
}
