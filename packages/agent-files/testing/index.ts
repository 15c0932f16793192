/** `agent-files/testing`: a service inside the process, for the tests of programs. */
export { InProcessService } from "./service.ts";
