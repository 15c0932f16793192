#!/usr/bin/env node
import process from "node:process";
import { EXIT } from "./exit_codes.ts";
import { runAgent } from "./run.ts";

// Who reads the output may go away. Whoever writes then is told, and need not be told twice.
process.stdout.on("error", () => {});
process.exitCode = await runAgent(process.argv.slice(2));
// A read of standard input that nobody answers would keep the process.
if (process.exitCode === EXIT.interrupted) process.exit();
