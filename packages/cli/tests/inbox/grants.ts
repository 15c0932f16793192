/** Simulated grants of a service, for the tests of `inbox --download`. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { AgentFiles, InboxEntry } from "../../../agent-files/index.ts";
import { type Downloaded, downloadGrant } from "../../downloads/download_folder.ts";

export const CONTENT = "hostile";
export const ARTIFACT_ID = `art_${"12345678".repeat(4)}`;

export function grantOf(fields: Partial<InboxEntry> = {}): InboxEntry {
  return {
    grant_id: "grant_1",
    artifact_id: ARTIFACT_ID,
    from_agent: "planner",
    key: "plan.txt",
    mime: "text/plain",
    size: CONTENT.length,
    sha256: createHash("sha256").update(CONTENT).digest("hex"),
    granted_at: "",
    expires_at: "",
    ...fields,
  };
}

/** A service that returns the same content for every grant, and counts the downloads. */
export class FakeService {
  asked = 0;

  get files(): AgentFiles {
    const get = () => {
      this.asked++;
      const artifact = { artifact_id: ARTIFACT_ID };
      return Promise.resolve({ body: new Blob([CONTENT]).stream(), artifact });
    };
    return { get } as unknown as AgentFiles;
  }
}

export function download(
  folder: string,
  fields: Partial<InboxEntry> = {},
  { files }: Pick<FakeService, "files"> = new FakeService(),
): Promise<Downloaded> {
  return downloadGrant(files, grantOf(fields), { folder });
}

/** Calls `run` with a new path `received`, and asserts that nothing else appears beside it. */
export async function inFolder(run: (folder: string) => Promise<void>): Promise<void> {
  const outer = await Deno.realPath(await Deno.makeTempDir());
  try {
    await run(join(outer, "received"));
    assert.deepEqual(await readdir(outer), ["received"], "nothing beside the folder");
  } finally {
    await Deno.remove(outer, { recursive: true });
  }
}

/** The files and folders below a folder. */
export async function namesBelow(folder: string): Promise<string[]> {
  return (await readdir(folder, { recursive: true })).sort();
}
