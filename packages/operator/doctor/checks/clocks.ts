import { type Facts, inspected } from "../facts/facts.ts";
import { fieldOf, type Reply } from "../facts/reply.ts";
import { fault, type Finding, ok, shell } from "../findings/finding.ts";

const TOLERANCE_MILLISECONDS = 5_000;

/** How far a clock is ahead of this machine's: between `least` and `most` milliseconds. */
interface Offset {
  readonly whose: string;
  readonly least: number;
  readonly most: number;
}

/** Whether the clocks of the database, of the functions and of this machine agree. */
export function checkClocks(facts: Facts): Finding[] {
  const database = inspected(facts);
  const offsets = [
    ...(database === null ? [] : offsetOf("the database", database.time, facts.inspection)),
    ...facts.functions.flatMap(({ name, health }) =>
      offsetOf(name, fieldOf(health, "time"), health)
    ),
  ];
  const [first, ...others] = offsets;
  if (first === undefined) return [];
  const stray = others.find((offset) => !agree(first, offset));
  if (stray !== undefined) {
    return [fault(
      "clocks",
      `The clock of ${stray.whose} is ${
        describe(middle(stray) - middle(first))
      } that of ${first.whose}: leases and URLs end too early or too late.`,
      "If the project runs on your own host, set its clock by NTP. Otherwise tell the platform.",
    )];
  }
  const here: Offset = { whose: "this machine", least: 0, most: 0 };
  if (!agree(here, first)) {
    return [fault(
      "clocks",
      `The clock of this machine is ${describe(-middle(first))} that of the project.`,
      "Set it by NTP.",
      shell("timedatectl set-ntp true"),
    )];
  }
  return [ok("clocks", "The database, the functions and this machine agree.")];
}

/** What a reply's timestamp tells about the clock that made it. */
function offsetOf(whose: string, time: unknown, { sentAt, receivedAt }: Reply): Offset[] {
  const at = typeof time === "string" ? Date.parse(time) : NaN;
  return Number.isNaN(at) ? [] : [{ whose, least: at - receivedAt, most: at - sentAt }];
}

function agree(one: Offset, other: Offset): boolean {
  return one.least <= other.most + TOLERANCE_MILLISECONDS &&
    other.least <= one.most + TOLERANCE_MILLISECONDS;
}

function middle({ least, most }: Offset): number {
  return (least + most) / 2;
}

function describe(milliseconds: number): string {
  return `${Math.round(Math.abs(milliseconds) / 1000)} s ${
    milliseconds > 0 ? "ahead of" : "behind"
  }`;
}
