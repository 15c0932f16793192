/** Desks whose commands have no credential other than a login by enrolment. */
import { readFile, writeFile } from "node:fs/promises";
import { SUPABASE_URL } from "../../../../tests/conformance/client.ts";
import { Desk } from "../desk.ts";

/** Environment variables that give a command no credential. */
export const STRANGER = {
  AGENT_URL: "",
  AGENT_KEY: "",
  AGENT_ID: "",
  ACTIONS_ID_TOKEN_REQUEST_URL: "",
  ACTIONS_ID_TOKEN_REQUEST_TOKEN: "",
};
/** The file of the stored login. */
export const LOGIN = "settings/agentfiles/login.json";

export async function newDesk(): Promise<Desk> {
  return await Desk.of("stranger");
}

export function login(
  desk: Desk,
  args: readonly string[],
  environment: Record<string, string> = {},
) {
  return desk.run(["login", "--url", SUPABASE_URL, ...args], { ...STRANGER, ...environment });
}

/** The agent that is logged in, or how the command failed. */
export async function whoami(desk: Desk): Promise<string> {
  const { code, output, errors } = await desk.run(["whoami"], STRANGER);
  return code === 0 ? output.split(" ", 1)[0]!.trim() : `exit ${code}: ${errors}`;
}

export async function readLogin(desk: Desk) {
  return JSON.parse(await readFile(desk.path(LOGIN), "utf8"));
}

/** Makes the key due for renewal. */
export async function makeDue(desk: Desk): Promise<void> {
  const known = await readLogin(desk);
  known.enrolled.renewAt = 0;
  await writeFile(desk.path(LOGIN), JSON.stringify(known));
}
