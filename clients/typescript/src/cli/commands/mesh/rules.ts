import type { MeshRequest } from "../../../contract/types.ts";
import type { Context } from "../../context.ts";
import { UsageError } from "../../exit_codes.ts";
import { plain } from "../../terminal/output.ts";

export async function allowRule(args: readonly string[], context: Context): Promise<void> {
  const put = await (await context.mesh()).allow(parseRule(args));
  await context.output.value(
    put,
    ({ active, waiting_for }) =>
      active
        ? "The rule is active."
        : `The rule waits for ${plain(waiting_for ?? "the other side")} to agree.`,
  );
}

export async function revokeRule(args: readonly string[], context: Context): Promise<void> {
  const ended = await (await context.mesh()).revoke(parseRule(args));
  await context.output.value(
    ended,
    ({ revoked }) => revoked ? "The rule is revoked." : "There was no such rule.",
  );
}

/** FROM TO PORT, PORT/tcp or PORT/udp. */
function parseRule(args: readonly string[]): MeshRequest<"/acl/put"> {
  const [from_agent, to_agent, target = "", ...rest] = args;
  const [, port, proto = "tcp"] = /^([0-9]{1,5})(?:\/(tcp|udp))?$/.exec(target) ?? [];
  if (!from_agent || !to_agent || port === undefined || rest.length > 0) {
    throw new UsageError(
      "Name the agent that may connect, the one it may reach, and a port: builder planner 443/tcp.",
    );
  }
  return { from_agent, to_agent, port: Number(port), proto: proto as "tcp" | "udp" };
}
