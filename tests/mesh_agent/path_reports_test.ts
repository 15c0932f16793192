/** Which paths the reference agent includes in each report. The service accepts 64. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { PROJECT } from "../../packages/local/project.ts";
import { runProgram } from "../../packages/local/processes/run_program.ts";

const TAKEN = 64;
const START = 1_790_000_000;

interface Sent {
  readonly agent_id: string;
  readonly via: string;
}

/** An agent that checks its peers every 10 s, and reports when a test calls `report`. */
class Reporter implements AsyncDisposable {
  #now = START;
  #toldAt = 0;
  #next = "0";

  private constructor(
    readonly folder: string,
    /** Whether the tunnel to each peer works, by the peer's index. */
    readonly works: boolean[],
  ) {}

  static async start(works: boolean[]): Promise<Reporter> {
    const folder = await Deno.makeTempDir({ prefix: "path-reports-" });
    const reporter = new Reporter(folder, works);
    await Deno.writeTextFile(join(folder, "paths"), "");
    const sections = works.map((_, index) => `# peer-${index}\nPublicKey = key-${index}\n`);
    await Deno.writeTextFile(join(folder, "configuration"), sections.join(""));
    return reporter;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.folder, { recursive: true });
  }

  async look(): Promise<void> {
    this.#now += 10;
    const handshake = (works: boolean) => works ? this.#now - 1 : 0;
    const peers = this.works.map((works, index) => {
      const at = `192.0.2.1:${1000 + index}`;
      return [`key-${index}`, "(none)", at, "10.213.0.2/32", handshake(works), this.#now, 0, 25];
    });
    const dump = ["own", ...peers.map((peer) => peer.join("\t")), ""].join("\n");
    await Deno.writeTextFile(join(this.folder, "dump"), dump);
    const { code, errors } = await runProgram("awk", {
      args: [
        "-v",
        `now=${this.#now}`,
        "-v",
        `folder=${this.folder}`,
        "-v",
        "has_endpoint=",
        "-v",
        `told_at=${this.#toldAt}`,
        "-v",
        `next_path=${this.#next}`,
        "-f",
        join(PROJECT, "examples/mesh-agent/host/paths.awk"),
        "part=state",
        "paths",
        "part=registered",
        "configuration",
        "part=dump",
        "dump",
      ],
      cwd: this.folder,
    });
    assert.equal(code, 0, errors);
    await Deno.rename(join(this.folder, "paths.new"), join(this.folder, "paths"));
  }

  /**
   * The paths in the report of the last look. `reports`: how many reports it takes to name all
   * paths.
   */
  async report(): Promise<{ readonly named: readonly Sent[]; readonly reports: number }> {
    const named = JSON.parse(await Deno.readTextFile(join(this.folder, "report")));
    const turn = await Deno.readTextFile(join(this.folder, "turn"));
    const [next = "", reports] = turn.trim().split(" ");
    [this.#toldAt, this.#next] = [this.#now + 1, next];
    return { named, reports: Number(reports) };
  }
}

for (const count of [0, 1, 64, 65, 130, 200]) {
  Deno.test(`${count} neighbours, most of them away → every one is reported, in turn`, async () => {
    await using agent = await Reporter.start(
      Array.from({ length: count }, (_, index) => index % 3 === 0),
    );
    const needed = Math.ceil(count / TAKEN);
    for (let round = 0; round < 3; round++) {
      const told = new Set<string>();
      for (let sent = 0; sent < Math.max(1, needed); sent++) {
        await agent.look();
        const { named, reports } = await agent.report();
        assert.equal(reports, needed);
        assert.equal(named.length, Math.min(count, TAKEN));
        assert.equal(new Set(named.map(({ agent_id }) => agent_id)).size, named.length);
        for (const { agent_id } of named) told.add(agent_id);
      }
      // Paths that have just changed take the places of others, at first and after 20 s.
      if (round > 1) assert.equal(told.size, count);
    }
  });
}

Deno.test("a tunnel that begins to work, with 200 neighbours → in the next report", async () => {
  await using agent = await Reporter.start(Array.from({ length: 200 }, () => false));
  for (let sent = 0; sent < 5; sent++) {
    await agent.look();
    await agent.report();
  }
  for (const index of [0, 63, 64, 130, 199]) {
    agent.works[index] = true;
    await agent.look();
    const { named } = await agent.report();
    assert.equal(named.find(({ agent_id }) => agent_id === `peer-${index}`)?.via, "direct");
  }
});
