#!/usr/bin/env node
import process from "node:process";
import { runAgent } from "./run.ts";

process.exitCode = await runAgent(process.argv.slice(2));
