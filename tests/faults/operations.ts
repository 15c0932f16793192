/** The operations of the artifact group: the calls that each makes, and a request for each. */
import type { Agent } from "../conformance/client.ts";
import {
  grant,
  publish,
  registerAndUpload,
  secondsFromNow,
  sha256,
} from "../conformance/artifacts.ts";

/** Every call that an operation makes, in order, each by a part of its path. */
export const CALLS: Record<string, readonly string[]> = {
  "/register": ["/rpc/register_artifact", "/object/upload/sign/"],
  "/commit": [
    "/rpc/begin_commit",
    "/object/move",
    "/object/authenticated/",
    "/rpc/finish_commit",
  ],
  "/grant": ["/rpc/grant_artifact"],
  "/revoke": ["/rpc/revoke_grants"],
  "/fetch": ["/rpc/redeem_grant_token", "/object/sign/"],
  "/open": ["/rpc/open_artifact", "/object/sign/"],
  "/inbox": ["/rpc/list_inbox"],
  "/list": ["/rpc/list_artifacts"],
  "/delete": ["/rpc/delete_artifact"],
};

/** A fresh body with which the planner's request to this path succeeds. */
export async function requestFor(
  path: string,
  { planner, builder }: { planner: Agent; builder: Agent },
) {
  if (path === "/register") {
    return { agent_id: planner.id, key: "k", mime: "text/plain", size: 5, ttl_days: 1 };
  }
  if (path === "/inbox" || path === "/list") return { agent_id: planner.id };
  if (path === "/commit") {
    const { artifact_id } = await registerAndUpload(planner);
    return { artifact_id, sha256: sha256("hello") };
  }
  const { artifact_id } = await publish(planner);
  if (path === "/grant") {
    return { artifact_id, to_agent: builder.id, expires_at: secondsFromNow(60) };
  }
  if (path === "/revoke" || path === "/fetch") {
    const { token } = await grant(planner, { artifact_id }, { to: builder });
    return path === "/fetch" ? { grant_token: token } : { artifact_id, to_agent: builder.id };
  }
  return { artifact_id };
}
