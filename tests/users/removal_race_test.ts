import { removalRaceTests } from "./removal_race.ts";

removalRaceTests(10);
