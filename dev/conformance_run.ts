import { readFile, rm } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { countTests, type TestCounts } from "./test_counts.ts";

/** What the checks of one section of the wire contract came to. */
export interface Section extends TestCounts {
  readonly title: string;
}

const SUITE = fileURLToPath(new URL("../tests/conformance/", import.meta.url));

/** Which section a file of the suite belongs to: the first that matches its name. */
const SECTIONS: readonly (readonly [title: string, files: RegExp])[] = [
  ["Conventions", /^conventions_/],
  ["Who is calling", /callers_test/],
  ["Field rules", /fields_test/],
  ["Mesh group", /^mesh_/],
  ["Artifact group", /^/],
];

/**
 * Runs the black-box suite in a process that gets nothing of this one's SUPABASE_ variables, but `connection`: at least
 * SUPABASE_URL and SUPABASE_SECRET_KEY. `testArguments` go to `deno test`, which prints to this process's output.
 * `code` is its exit code.
 */
export async function runConformance(
  connection: Readonly<Record<string, string>>,
  testArguments: readonly string[] = [],
): Promise<{ readonly code: number; readonly sections: readonly Section[] }> {
  const report = await Deno.makeTempFile({ suffix: ".xml" });
  try {
    const suite = new Deno.Command(Deno.execPath(), {
      args: [
        "test",
        "--allow-env",
        "--allow-net",
        "--allow-read",
        `--junit-path=${report}`,
        ...testArguments,
        SUITE,
      ],
      clearEnv: true,
      env: { ...environmentOfOthers(), ...connection },
    }).spawn();
    const { code } = await suite.status;
    return { code, sections: countSections(await readFile(report, "utf8")) };
  } finally {
    await rm(report, { force: true });
  }
}

/** Counts the tests of a JUnit report by section, in the order of SECTIONS; sections without a test are left out. */
export function countSections(report: string): Section[] {
  const suites = [...report.matchAll(/<testsuite name="([^"]*)".*?(?:<\/testsuite>|\/>)/gs)];
  return SECTIONS.flatMap(([title]) => {
    const text = suites
      .filter(([, path = ""]) => titleOf(path) === title)
      .map(([suite]) => suite)
      .join("\n");
    return text === "" ? [] : [{ title, ...countTests(text) }];
  });
}

function titleOf(path: string): string | undefined {
  const file = path.slice(path.lastIndexOf("/") + 1);
  return SECTIONS.find(([, files]) => files.test(file))?.[0];
}

function environmentOfOthers(): Record<string, string> {
  return Object.fromEntries(
    Object.entries(Deno.env.toObject()).filter(([name]) => !name.startsWith("SUPABASE_")),
  );
}
