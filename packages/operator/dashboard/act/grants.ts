import { CommandError } from "../../../command/command_error.ts";
import { callFunctionAsOperator } from "../../function_call.ts";
import { rowsOf } from "../../pages.ts";
import type { GrantRow } from "../../reads/rows.ts";
import { type Action, counted, type Offer } from "./action.ts";
import { collect } from "../../reads/collections.ts";

/** How many live grants of one artifact are searched for a given grant. */
const MOST_GRANTS = 5_000;

/** Ends one grant. */
export const endGrant: Action = {
  // `agent_id` only says which page to go back to.
  takes: ["grant_id", "artifact_id", "agent_id"],
  async plan({ grant_id = "", artifact_id = "" }) {
    const { grant, others } = await findGrant(grant_id, artifact_id);
    const { key, from_agent } = grant;
    return {
      title: `End a grant of ${from_agent}`,
      effects: [
        `${
          capitalized(granteeOf(grant))
        } can no longer read “${key}” of ${from_agent} by this grant. ` +
        `It was read ${counted(grant.downloads, "time")}.`,
        others > 0
          ? `${counted(others, "other live grant")} of the file to the same reader stay${
            others === 1 ? "s" : ""
          }.`
          : "There is no other live grant of the file to the same reader.",
        "A download URL that was issued earlier works until it expires.",
      ],
      undo: offerAgain(grant) === null
        ? "It cannot be undone here: give the file again."
        : "It can be undone: the file can be granted again until the same time.",
      verb: "End the grant",
      isDangerous: true,
    };
  },
  async run({ grant_id = "", artifact_id = "" }) {
    const { grant } = await findGrant(grant_id, artifact_id);
    const { revoked } = await callFunctionAsOperator("/agent-artifacts/revoke", {
      grant_id,
    }) as { revoked: number };
    if (revoked === 0) return { done: ["Nothing was ended: the grant had ended already."] };
    const undo = offerAgain(grant);
    return {
      done: [`The grant of “${grant.key}” to ${granteeOf(grant)} has ended.`],
      ...(undo === null ? {} : { undo }),
    };
  },
};

/** Grants an artifact again, on the terms of a grant that was ended. */
export const grantAgain: Action = {
  takes: ["artifact_id", "from_agent", "to_agent", "to_tag", "expires_at", "max_downloads"],
  plan({ from_agent = "", to_agent = "", to_tag = "", expires_at = "", max_downloads = "" }) {
    const grantee = granteeOfTarget({ to_agent, to_tag });
    const most = max_downloads === ""
      ? ""
      : `, at most ${counted(Number(max_downloads), "time")}${to_tag === "" ? "" : " together"}`;
    return Promise.resolve({
      title: `Grant a file of ${from_agent} to ${grantee} again`,
      effects: [
        `${capitalized(grantee)} may read the file until ${expires_at}${most}. ` +
        `It is in ${to_tag === "" ? "its inbox" : "their inboxes"} as a new grant.`,
      ],
      undo: "It can be undone: end the grant.",
      verb: "Grant again",
    });
  },
  async run({
    artifact_id = "",
    from_agent = "",
    to_agent = "",
    to_tag = "",
    expires_at = "",
    max_downloads = "",
  }) {
    const { grant_id } = await callFunctionAsOperator("/agent-artifacts/grant", {
      artifact_id,
      ...(to_tag === "" ? { to_agent } : { to_tag }),
      expires_at,
      ...(max_downloads === "" ? {} : { max_downloads: Number(max_downloads) }),
    }) as { grant_id: string };
    return {
      done: [
        `${capitalized(granteeOfTarget({ to_agent, to_tag }))} may read the file again, ` +
        `until ${expires_at}.`,
      ],
      undo: {
        action: "grant.end",
        target: { grant_id, artifact_id, agent_id: from_agent },
        label: "Undo: end the grant",
      },
    };
  },
};

/** Throws CommandError if the grant has ended. */
async function findGrant(
  grantId: string,
  artifact_id: string,
): Promise<{ readonly grant: GrantRow; readonly others: number }> {
  const grants = await collect(
    rowsOf<GrantRow>("list_all_grants", { parameters: { artifact_id }, limit: MOST_GRANTS }),
  );
  const grant = grants.find(({ grant_id }) => grant_id === grantId);
  if (grant === undefined) throw new CommandError("This grant has ended, or never existed.");
  const others =
    grants.filter(({ to_agent, to_tag }) => to_agent === grant.to_agent && to_tag === grant.to_tag)
      .length - 1;
  return { grant, others };
}

/** Null if the grant cannot be repeated: it was a link, or it was used up. */
function offerAgain(grant: GrantRow): Offer | null {
  const { artifact_id, from_agent, to_agent, to_tag, expires_at, max_downloads, downloads } = grant;
  const isLink = to_agent === null && to_tag === undefined;
  if (isLink || (max_downloads !== null && max_downloads <= downloads)) return null;
  return {
    action: "grant.again",
    target: {
      artifact_id,
      from_agent,
      to_agent: to_agent ?? "",
      to_tag: to_tag ?? "",
      expires_at,
      max_downloads: max_downloads === null ? "" : String(max_downloads - downloads),
    },
    label: "Undo: grant it again",
  };
}

/**
 * Capitalizes a grantee for the beginning of a sentence. An agent's identifier, which has no space,
 * stays as it is.
 */
function capitalized(grantee: string): string {
  return grantee.includes(" ") ? grantee[0]!.toUpperCase() + grantee.slice(1) : grantee;
}

/** The grantee of a target. The absent one of `to_agent` and `to_tag` is an empty string. */
function granteeOfTarget({ to_agent, to_tag }: { to_agent: string; to_tag: string }): string {
  return granteeOf(to_tag === "" ? { to_agent } : { to_agent: null, to_tag });
}

function granteeOf({ to_agent, to_tag }: Pick<GrantRow, "to_agent" | "to_tag">): string {
  if (to_tag !== undefined) return `every agent with ${to_tag}`;
  return to_agent ?? "anyone with the link";
}
