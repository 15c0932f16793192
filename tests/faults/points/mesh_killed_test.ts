import { strikeScenariosOf } from "./strike_scenarios.ts";

strikeScenariosOf("agent-mesh", "killed");
