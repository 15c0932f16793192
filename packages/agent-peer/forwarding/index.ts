export { kernelInterface } from "./kernel.ts";
export { PathKeeper } from "./path_keeper.ts";
export { PathService } from "./service.ts";
