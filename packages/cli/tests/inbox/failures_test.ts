import assert from "node:assert/strict";
import { join } from "node:path";
import { AgentError, type AgentFiles } from "../../../agent-files/index.ts";
import { InboxDownloads } from "../../sharing/inbox_downloads.ts";
import { Context } from "../../context.ts";
import { CONTENT, grantOf, inFolder, namesBelow } from "./grants.ts";

const away = new AgentError({ code: "network_error", message: "Nobody.", retryable: true });

function refusal(code: "internal" | "unauthenticated" | "grant_revoked", status: number) {
  return new AgentError({ code, message: "No.", status, retryable: status >= 500 });
}

/** A service that fails one grant with `error`. Its inbox works, unless `probe` is an error. */
class FailingService {
  probed = 0;
  readonly retrySeconds: (number | undefined)[] = [];

  constructor(readonly error: unknown, readonly probe: unknown = null) {}

  get files(): AgentFiles {
    return {
      get: ({ artifactId }: { artifactId: string }, options: { retrySeconds?: number }) => {
        this.retrySeconds.push(options.retrySeconds);
        if (artifactId === grantOf().artifact_id) return Promise.reject(this.error);
        return Promise.resolve({ body: new Blob([CONTENT]).stream() });
      },
      inboxPage: () => {
        this.probed++;
        return this.probe === null ? Promise.resolve({}) : Promise.reject(this.probe);
      },
    } as unknown as AgentFiles;
  }
}

const others = [1, 2].map((number) =>
  grantOf({ grant_id: `grant_${number}`, artifact_id: `art_${`${number}`.repeat(32)}` })
);

/** Runs without output to the terminal. Returns the result and the text for standard error. */
async function silently<Result>(run: () => Promise<Result>): Promise<[Result, string]> {
  const { stdout, stderr } = (await import("node:process")).default;
  const [writeOut, writeErr] = [stdout.write, stderr.write];
  let errors = "";
  stdout.write = ((_: unknown, written: () => void) => (written(), true)) as typeof stdout.write;
  stderr.write = ((text: string) => (errors += text, true)) as typeof stderr.write;
  try {
    return [await run(), errors];
  } finally {
    Object.assign(stdout, { write: writeOut });
    Object.assign(stderr, { write: writeErr });
  }
}

function downloadsOf(
  service: FailingService,
  folder: string,
  signal = new AbortController().signal,
) {
  const context = new Context({ json: true, signal, verbs: () => Promise.resolve({}) });
  return new InboxDownloads(service.files, context, { folder, whatNow: "Do it again." });
}

for (
  const [what, error, { isFailure, isAgain }] of [
    ["a TypeError", new TypeError("no function"), { isFailure: true, isAgain: true }],
    ["no Error at all", "text", { isFailure: true, isAgain: true }],
    ["a full disk", Object.assign(new Error("full"), { code: "ENOSPC" }), {
      isFailure: true,
      isAgain: true,
    }],
    ["an error without a code", new Error("why"), { isFailure: true, isAgain: true }],
    ["no answer", away, { isFailure: true, isAgain: true }],
    ["an HTTP 500 that passes", refusal("internal", 500), { isFailure: true, isAgain: true }],
    ["an HTTP 401", refusal("unauthenticated", 401), { isFailure: true, isAgain: false }],
    ["its revocation", refusal("grant_revoked", 410), { isFailure: false, isAgain: false }],
  ] as const
) {
  Deno.test(`a grant whose download fails with ${what}, while the service answers → the others arrive`, () =>
    inFolder(async (folder) => {
      const service = new FailingService(error);
      const downloads = downloadsOf(service, folder);
      const grants = [others[0]!, grantOf({ grant_id: "failing" }), others[1]!];
      const [, errors] = await silently(async () => {
        for (const [index, grant] of grants.entries()) {
          await downloads.take({ ...grant, key: `${index}.txt` });
        }
        await downloads.take({ ...grants[1]!, key: "1.txt" });
      });
      assert.deepEqual(await namesBelow(join(folder, "planner")), ["0.txt", "2.txt"]);
      assert.equal(downloads.firstFailure, isFailure ? error : null);
      assert.equal(downloads.again.size > 0, isAgain);
      assert.match(errors, /^1\.txt from planner: [^\n]+\n$/, "told once");
      assert.equal(errors.includes("Do it again."), isAgain);
    }));
}

for (const error of [away, refusal("unauthenticated", 401)]) {
  Deno.test(`a grant whose download fails with ${error.code}, as another call does → that error, which ends it`, () =>
    inFolder(async (folder) => {
      const service = new FailingService(error, error);
      const downloads = downloadsOf(service, folder);
      const [thrown] = await silently(() => downloads.take(grantOf()).catch((error) => error));
      assert.equal(thrown, error);
      assert.equal(service.probed, 1);
      assert.deepEqual(await namesBelow(folder), ["planner"]);
    }));
}

Deno.test("grants after one that was repeated in vain → repeated briefly, until one arrives", () =>
  inFolder(async (folder) => {
    const service = new FailingService(away);
    const downloads = downloadsOf(service, folder);
    const grants = [grantOf({ key: "a" }), { ...others[0]!, key: "b" }, {
      ...others[1]!,
      key: "c",
    }];
    await silently(async () => {
      for (const grant of grants) await downloads.take(grant);
    });
    assert.deepEqual(service.retrySeconds, [undefined, 5, undefined]);
  }));

Deno.test("Ctrl-C while a grant is downloaded → it ends with that, and asks nothing more", () =>
  inFolder(async (folder) => {
    const interruption = new AbortController();
    interruption.abort(new Error("Interrupted."));
    const service = new FailingService(interruption.signal.reason);
    const downloads = downloadsOf(service, folder, interruption.signal);
    await assert.rejects(silently(() => downloads.take(grantOf())), /Interrupted/);
    assert.equal(service.probed, 0);
    assert.equal(downloads.firstFailure, null);
  }));
