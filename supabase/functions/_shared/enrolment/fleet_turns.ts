import { Turns } from "../upstream/turns.ts";

/** Enrolments of one proof of origin at a time: a fleet starts at once, and others need answers. */
export const fleetTurns = new Turns(2);
