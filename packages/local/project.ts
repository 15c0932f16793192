import { fileURLToPath } from "node:url";

/** The absolute path of the project's folder. */
export const PROJECT = fileURLToPath(new URL("../..", import.meta.url));
