import type { ErrorCode } from "../../request/errors.ts";
import type { Link } from "../link.ts";
import type { Components } from "./components.ts";
import { linkErrorResponses, linkShownResponse, redirectResponse } from "./responses.ts";

/** The errors that every link can answer with. */
const COMMON_ERRORS: readonly ErrorCode[] = [
  // The answer to any method but GET, HEAD and POST.
  "method_not_allowed",
  "rate_limited",
  "internal",
  "upstream_unavailable",
  "maintenance",
  "misconfigured",
];

/** A link's path in the document, `/d/{grant_token}` for `/d/:grant_token`, and its description. */
export function describeLink(
  pattern: string,
  link: Link,
  components: Components,
): [path: string, item: object] {
  const [base, name] = pattern.split("/:") as [string, string];
  const { summary, description, tag, callers, token, errors } = link;
  const describedWith = (responses: object) => ({
    tags: [tag],
    summary,
    description: `${description} Who may call it: ${callers}.`,
    security: [],
    parameters: [{
      name,
      in: "path",
      required: true,
      ...components.body(token, "input"),
    }],
    responses: {
      ...responses,
      ...linkErrorResponses([...COMMON_ERRORS, ...errors], components),
    },
  });
  const operationId = `follow${base.slice(1).toUpperCase()}`;
  return [`${base}/{${name}}`, {
    get: {
      operationId,
      ...describedWith({ "200": linkShownResponse(), "302": redirectResponse() }),
    },
    head: { operationId: `${operationId}Head`, ...describedWith({ "302": redirectResponse() }) },
    post: { operationId: `${operationId}Post`, ...describedWith({ "303": redirectResponse() }) },
  }];
}
