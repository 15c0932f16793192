#!/usr/bin/env node
import process from "node:process";
import { runAgentops } from "./run.ts";

// The dashboard goes on after this.
process.exitCode = await runAgentops(process.argv.slice(2));
