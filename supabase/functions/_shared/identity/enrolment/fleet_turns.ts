import { Turns } from "../../data/work_limit.ts";

/**
 * How many enrolments by one proof of origin run at a time. A whole fleet may start at once, and
 * other callers need answers too.
 */
export const fleetTurns = new Turns(2);
