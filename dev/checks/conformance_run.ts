import { readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { PROJECT } from "../../packages/local/project.ts";
import { LOCKED } from "../pins/pins.ts";
import { countTests, type TestCounts } from "./units/test_counts.ts";

/** How many checks of one section of the wire contract passed, failed and were skipped. */
export interface Section extends TestCounts {
  readonly title: string;
}

const SUITE = join(PROJECT, "tests", "conformance");

/** Each file of the suite belongs to the first section that matches its path. */
const SECTIONS: readonly { readonly title: string; readonly files: RegExp }[] = [
  { title: "Conventions", files: /^conventions_/ },
  { title: "Who is calling", files: /callers_test|agent_keys/ },
  { title: "Field rules", files: /fields_test|timestamps/ },
  { title: "MCP", files: /^mcp\// },
  { title: "Mesh group", files: /^mesh\// },
  { title: "Artifact group", files: /^/ },
];

export interface ConformanceOptions {
  /**
   * SUPABASE_URL, SUPABASE_SECRET_KEY and the other known keys. The suite sees no other variable
   * whose name begins with SUPABASE_.
   */
  readonly connection: Readonly<Record<string, string>>;
  /** Further arguments for `deno test`. */
  readonly testArguments?: readonly string[];
  /** Runs only the files whose paths below the suite match. */
  readonly only?: RegExp;
  /** Receives the output of `deno test`, section by section. */
  readonly onOutput: (text: string) => void;
}

/**
 * Runs the black-box suite against a deployment. All sections run at once, because they mostly wait
 * for the network. Resolves to the counts of each section.
 */
export async function runConformance(options: ConformanceOptions): Promise<Section[]> {
  const remaining = (await readdir(SUITE, { recursive: true }))
    .filter((file) => file.endsWith("_test.ts") && (options.only?.test(file) ?? true)).sort();
  return await Promise.all(SECTIONS.map(async ({ title, files }) => {
    const own = remaining.filter((file) => files.test(file));
    for (const file of own) remaining.splice(remaining.indexOf(file), 1);
    if (own.length === 0) return { title, passed: 0, failed: 0, skipped: 0 };
    return { title, ...await runFiles(own, options) };
  }));
}

async function runFiles(
  files: readonly string[],
  { connection, testArguments = [], onOutput }: ConformanceOptions,
): Promise<TestCounts> {
  const report = await Deno.makeTempFile({ suffix: ".xml" });
  try {
    const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: [
        "test",
        "--no-check",
        "--allow-env",
        "--allow-net",
        "--allow-read",
        ...LOCKED,
        `--junit-path=${report}`,
        ...testArguments,
        ...files.map((file) => join(SUITE, file)),
      ],
      // Where deno.json is.
      cwd: PROJECT,
      clearEnv: true,
      env: { ...environmentOfOthers(), ...connection },
    }).output();
    const text = new TextDecoder();
    onOutput(text.decode(stdout) + text.decode(stderr));
    const counts = countTests(await readFile(report, "utf8"));
    // A file that cannot be loaded counts as one failed test.
    return code !== 0 && counts.failed === 0 ? { ...counts, failed: 1 } : counts;
  } finally {
    await rm(report, { force: true });
  }
}

function environmentOfOthers(): Record<string, string> {
  return Object.fromEntries(
    Object.entries(Deno.env.toObject())
      // The suite may not write, so it cannot note for another run what answers had.
      .filter(([name]) => !name.startsWith("SUPABASE_") && name !== "ANSWERED_FIELDS"),
  );
}
