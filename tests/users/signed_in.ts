/** Signed-in users of the local stack, who act as agents. */
import { readSigningKey } from "../../packages/local/auth/signing_key.ts";
import { signUserToken } from "../../packages/local/auth/user_token.ts";
import { type Agent, operatorRpc, SUPABASE_URL } from "../conformance/client.ts";

const STATE_DIR = Deno.env.get("STATE_DIR");
if (!STATE_DIR) throw new Error("Run these tests by `deno task test`: they need its stack.");

/** The private key that signs the tokens of the stack's users. */
export const SIGNING_KEY = await readSigningKey(STATE_DIR, { make: false });

/** An agent whose credential is a user's token. */
export interface UserAgent extends Agent {
  /** The user's id. */
  readonly sub: string;
}

/**
 * Signs in a user as that agent. `url` is the project's URL in the tested function. If the agent
 * has come by another way, the operator shares its name with the users first, unless `shares` is
 * false.
 */
export async function signIn(
  { id }: Pick<Agent, "id">,
  { sub = crypto.randomUUID(), seconds = 600, url = SUPABASE_URL, shares = true } = {},
): Promise<UserAgent> {
  if (shares) await shareWithUsers(id);
  const token = await signUserToken(SIGNING_KEY, { sub, agentId: id }, { url, seconds });
  return { id, key: token, keyId: "none", sub };
}

/** Lets users be this agent, if it has come by another way. */
export async function shareWithUsers(agent_id: string): Promise<void> {
  const { body } = await operatorRpc<{ ways: string[] | null }>("read_ways", { agent_id });
  if (body.ways !== null && !body.ways.includes("users")) {
    await operatorRpc("share_agent", { agent_id, way: "users" });
  }
}

/** A name that no agent has yet. */
export function newName(name: string): Pick<Agent, "id"> {
  return { id: `${name}-${crypto.randomUUID().slice(0, 13)}` };
}
