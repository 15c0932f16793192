/** The login of the user who ran `sudo agentfiles mesh up`. */
import { open, readFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { writePrivateFile } from "../../../command/private_file.ts";
import type { Context } from "../../context.ts";
import { NotLoggedInError } from "../../exit_codes.ts";

type Connected = Awaited<ReturnType<Context["connection"]>>;

/** More than a login has, in bytes. */
const LONGEST_LOGIN = 65_536;

/**
 * The connection of root's own login, or else of the login of the user who called sudo. That login
 * is copied into the folder: if root wrote a renewed key into the user's own file, the user could
 * not read it any more. Throws NotLoggedInError.
 */
export async function connectionOf(context: Context, runFolder: string): Promise<Connected> {
  try {
    return await context.connection();
  } catch (error) {
    if (!(error instanceof NotLoggedInError)) throw error;
    const text = await loginOfCaller();
    if (text === null) throw error;
    const folder = join(runFolder, "login");
    await writePrivateFile(join(folder, "agentfiles", "login.json"), text);
    process.env["XDG_CONFIG_HOME"] = folder;
    return await context.connection();
  }
}

/** Null if nobody called sudo, or if the caller has no login. */
async function loginOfCaller(): Promise<string | null> {
  const uid = Number(process.env["SUDO_UID"]);
  if (process.getuid?.() !== 0 || !Number.isInteger(uid) || uid <= 0) return null;
  const lines = (await readFile("/etc/passwd", "utf8").catch(() => "")).split("\n");
  const home = lines.map((line) => line.split(":")).find(([, , id]) => Number(id) === uid)?.[5];
  if (!home?.startsWith("/")) return null;
  const file = await open(join(home, ".config", "agentfiles", "login.json")).catch(() => null);
  if (file === null) return null;
  try {
    const stat = await file.stat();
    // The path belongs to the caller, who could let it lead to any file.
    if (!stat.isFile() || stat.uid !== uid || stat.size > LONGEST_LOGIN) return null;
    return await file.readFile("utf8");
  } finally {
    await file.close();
  }
}
