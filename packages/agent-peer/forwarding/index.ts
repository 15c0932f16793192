export { kernelInterface } from "./kernel.ts";
export { lockPathState } from "./agent/path_file.ts";
export { PathKeeper } from "./path_keeper.ts";
export { PathService } from "./service.ts";
