/** Users of the local stack who are signed in, as agents. */
import { readSigningKey } from "../../local/auth/signing_key.ts";
import { signUserToken } from "../../local/auth/user_token.ts";
import { type Agent, SUPABASE_URL } from "../conformance/client.ts";

const STATE_DIR = Deno.env.get("STATE_DIR");
if (!STATE_DIR) throw new Error("Run these tests by `deno task test`: they need its stack.");

/** The private key that the stack's users are signed in by. */
export const SIGNING_KEY = await readSigningKey(STATE_DIR, { make: false });

/** An agent whose credential is the token of a user. */
export interface UserAgent extends Agent {
  /** The user's id. */
  readonly sub: string;
}

/** Signs in a user who is that agent. `url`: the project as the function under test knows it. */
export async function signIn(
  { id }: Pick<Agent, "id">,
  { sub = crypto.randomUUID(), seconds = 600, url = SUPABASE_URL } = {},
): Promise<UserAgent> {
  const token = await signUserToken(SIGNING_KEY, { sub, agentId: id }, { url, seconds });
  return { id, key: token, keyId: "none", sub };
}

/** A name that no agent has yet. */
export function newName(name: string): Pick<Agent, "id"> {
  return { id: `${name}-${crypto.randomUUID().slice(0, 13)}` };
}
