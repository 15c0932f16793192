import { absentFrom, type Break, breakNamed } from "./breaks/break.ts";
import { type Outcome, playHistory, type Question, type Stage } from "./history.ts";
import { type Command, commandOf, readCommand, USAGE } from "./runs/command.ts";
import { playSeeds, type Report } from "./runs/many_seeds.ts";
import { shrink } from "./runs/shrink.ts";
import { openStage } from "./stage.ts";

async function main(args: string[]): Promise<number> {
  const command = readCommand(args);
  if (command === null) {
    console.error(USAGE);
    return 2;
  }
  if (command.worker !== null) return await playShare(command);
  if (command.seeds !== null) {
    return (await playSeeds({ ...command, seeds: command.seeds })).length === 0 ? 0 : 1;
  }
  const broken = await breakNamed(command.breakName);
  const question = { ...command.question!, ...takingPart(command, broken) };
  return await printHistory(await openStage(broken), question, command.breakName);
}

/** Without a break, the seed decides who takes part, and `--with` which optional actors may. */
function takingPart(
  { acting }: Command,
  broken: Break | undefined,
): Pick<Question, "absent" | "acting"> {
  return broken === undefined
    ? { acting }
    : { absent: absentFrom(broken), acting: [...acting, ...broken.acting ?? []] };
}

/** One process' share of the seeds. */
async function playShare(command: Command): Promise<number> {
  const { seeds, steps, processes, breakName } = command;
  const broken = await breakNamed(breakName);
  const stage = await openStage(broken);
  const parts = takingPart(command, broken);
  const [first, last] = seeds!;
  for (let seed = first; seed <= last; seed += processes) {
    const { violation } = await playHistory(stage, { seed, steps, ...parts });
    const words = violation && `${violation.invariant}: ${violation.what}`;
    if (!tell({ seed, broken: words })) return 1;
    if (violation !== null) return 0;
  }
  return 0;
}

/** False: the process that reads the reports was killed. `console.log` does not notice that. */
function tell(report: Report): boolean {
  try {
    Deno.stdout.writeSync(new TextEncoder().encode(`${JSON.stringify(report)}\n`));
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.BrokenPipe) return false;
    throw error;
  }
}

async function printHistory(
  stage: Stage,
  question: Question,
  breakName: string | null,
): Promise<number> {
  const outcome = await playHistory(stage, question);
  print(outcome);
  if (outcome.violation === null) return 0;
  const isSmall = question.omissions!.steps.size > 0 || question.omissions!.calm.size > 0;
  if (isSmall) return 1;
  const { question: smaller, outcome: least, plays } = await shrink(stage, question, outcome);
  console.log(`\nThe same with less, after ${plays} histories:\n`);
  print(least);
  console.log(`\n${commandOf(smaller, breakName)}`);
  return 1;
}

function print({ transcript }: Outcome): void {
  for (const line of transcript) console.log(line);
}

if (import.meta.main) Deno.exit(await main(Deno.args));
