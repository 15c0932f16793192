#!/usr/bin/env node
import process from "node:process";
import { EXIT } from "./exit_codes.ts";
import { runAgentFiles } from "./run.ts";

process.exitCode = await runAgentFiles(process.argv.slice(2));
// A pending read of standard input would keep the process alive.
if (process.exitCode === EXIT.interrupted) process.exit();
