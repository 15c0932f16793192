/** Everything that both clients must do alike. */
import { FILES } from "./files.ts";
import { GRANTS } from "./grants.ts";
import type { Scenario } from "./scenario.ts";
import { TASKS } from "./tasks.ts";

export const SCENARIOS: readonly Scenario[] = [...FILES, ...GRANTS, ...TASKS];
