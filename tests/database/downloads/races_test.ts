import { raceTest } from "./race.ts";

raceTest(10);
