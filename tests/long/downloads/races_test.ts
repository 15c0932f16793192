import { raceTest } from "../../database/downloads/race.ts";

raceTest(100);
