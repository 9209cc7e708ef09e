import { writeFileSync } from 'node:fs';

/** Loaded before a measured script (`node --import`): writes down at its end what the whole process has used. */
const { BENCH_USAGE: path } = process.env;
if (path !== undefined) {
  process.on('exit', () => {
    const { maxRSS, userCPUTime, systemCPUTime } = process.resourceUsage();
    writeFileSync(
      path,
      JSON.stringify({ maxRssMiB: maxRSS / 1_024, cpuMs: (userCPUTime + systemCPUTime) / 1_000 }),
    );
  });
}

// The sources count as built, which do not change between the runs that are compared: what one has mapped counts in the next.
Object.assign(globalThis, { BUILT_SOURCES_DIGEST: 'bench' });
