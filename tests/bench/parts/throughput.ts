/**
 * Each operation beside the bare function that makes the same calls, with 1 and with 16 clients.
 */
import { cpuPerRequest, type CpuTime, cpuTime } from "../load/cpu.ts";
import { load } from "../load/load.ts";
import { median } from "../load/timing.ts";
import { ARTIFACT_OPERATIONS } from "./artifact_operations.ts";
import { MESH_OPERATIONS } from "./mesh_operations.ts";
import { OPERATOR_READS } from "../operator/reads.ts";
import {
  type BenchOperation,
  type FilledStack,
  floorRequestsOf,
  requestsOf,
} from "./operations.ts";

/** Medians of the turns. Times are in milliseconds. */
export interface Measured {
  readonly p50: number;
  readonly p95: number;
  readonly perSecond: number;
  /** Per request. */
  readonly cpu: CpuTime;
  /** How many requests were refused once, summed over all turns. */
  readonly repeated: number;
}

export interface Throughput {
  readonly operation: string;
  readonly clients: number;
  readonly service: Measured;
  readonly floor: Measured | null;
  /** The service's requests per second, divided by the floor's: the median of the turns' ratios. */
  readonly ofFloor: number | null;
}

export interface Effort {
  readonly turns: number;
  readonly callsOfOneClient: number;
  readonly callsOfSixteen: number;
}

export const OPERATIONS: readonly BenchOperation[] = [
  ...ARTIFACT_OPERATIONS,
  ...MESH_OPERATIONS,
  ...OPERATOR_READS,
];

export async function measureThroughput(
  filled: FilledStack,
  effort: Effort,
  onResult: (result: Throughput) => void,
): Promise<Throughput[]> {
  const results: Throughput[] = [];
  for (
    const operation of OPERATIONS.filter(({ oneByOne, name }) =>
      !oneByOne && !/ended|fsck|operator/.test(name)
    )
  ) {
    for (const clients of [1, 16]) {
      const asked = clients === 1 ? effort.callsOfOneClient : effort.callsOfSixteen;
      const count = Math.min(asked, operation.maxCalls ?? asked);
      const service: Measured[] = [];
      const floor: Measured[] = [];
      // The first calls are not measured: processes compile code and open connections.
      const first = { clients, count: Math.ceil(count / 4) };
      if (operation.floor !== null) await runOnce(filled, operation, { ...first, floor: true });
      await runOnce(filled, operation, { ...first, floor: false });
      for (let turn = 0; turn < effort.turns; turn++) {
        if (operation.floor !== null) {
          floor.push(await runOnce(filled, operation, { clients, count, floor: true }));
        }
        service.push(await runOnce(filled, operation, { clients, count, floor: false }));
      }
      const result: Throughput = {
        operation: operation.name,
        clients,
        service: mediansOf(service),
        floor: operation.floor === null ? null : mediansOf(floor),
        ofFloor: operation.floor === null
          ? null
          : median(service.map(({ perSecond }, turn) => perSecond / floor[turn]!.perSecond)),
      };
      results.push(result);
      onResult(result);
    }
  }
  return results;
}

async function runOnce(
  filled: FilledStack,
  operation: BenchOperation,
  { clients, count, floor }: { clients: number; count: number; floor: boolean },
): Promise<Measured> {
  const calls = await operation.calls(filled, count);
  const requests = floor ? floorRequestsOf(operation, calls) : requestsOf(filled, operation, calls);
  const functionName = floor ? "bare" : operation.functionName;
  const before = await cpuTime(filled.stack, functionName);
  const { p50, p95, perSecond, repeated } = await load(filled.stack.url, requests, clients);
  const after = await cpuTime(filled.stack, functionName);
  return { p50, p95, perSecond, repeated, cpu: cpuPerRequest(before, after, requests.length) };
}

function mediansOf(all: readonly Measured[]): Measured {
  const of = (value: (measured: Measured) => number) => median(all.map(value));
  return {
    p50: of(({ p50 }) => p50),
    p95: of(({ p95 }) => p95),
    perSecond: of(({ perSecond }) => perSecond),
    repeated: all.reduce((sum, { repeated }) => sum + repeated, 0),
    cpu: {
      function: of(({ cpu }) => cpu.function),
      gateway: of(({ cpu }) => cpu.gateway),
      postgrest: of(({ cpu }) => cpu.postgrest),
      postgres: of(({ cpu }) => cpu.postgres),
    },
  };
}

export function describeThroughput(
  { operation, clients, service, floor, ofFloor }: Throughput,
): string {
  const repeated = service.repeated + (floor?.repeated ?? 0);
  return `${operation}, ${clients} clients: p50 ${service.p50.toFixed(1)} ms, ` +
    `${service.perSecond.toFixed(0)}/s` +
    (ofFloor === null ? "" : `, ${ofFloor.toFixed(2)} of the bare function's`) +
    (repeated === 0 ? "" : `, ${repeated} refused once`);
}
