import { removalRaceTests } from "../users/removal_race.ts";

removalRaceTests(60);
