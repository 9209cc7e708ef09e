import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The wall clock of the commands that are started with `env`, as a person may put it forward or back. */
export interface WallClock extends Disposable {
  /** For `makeWorkspace`: each command reads once, when it starts, how its clock goes. */
  readonly env: Readonly<Record<string, string>>;
  /** So many milliseconds ahead of the real time. */
  ahead(ms: number): void;
  /** It starts at this moment, in milliseconds since the epoch, with each command. */
  at(moment: number): void;
}

/** Runs before a command. Monotonic clocks and timers stay as they are. */
const PRELOAD = `
import { readFileSync } from 'node:fs';
const { ahead, at } = JSON.parse(readFileSync(process.env.TEST_WALL_CLOCK, 'utf8'));
const { Date: Real } = globalThis;
const shift = at === undefined ? ahead : at - Real.now();
const now = () => Real.now() + shift;
globalThis.Date = new Proxy(Real, {
  construct: (target, args, made) => Reflect.construct(target, args.length === 0 ? [now()] : args, made),
  get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
});
`;

/** A wall clock that is right until it is put forward or back. */
export function wallClock(): WallClock {
  const dir = mkdtempSync(join(tmpdir(), 'storeferry-clock-'));
  const file = join(dir, 'clock.json');
  const preload = join(dir, 'preload.mjs');
  writeFileSync(preload, PRELOAD);
  const set = (clock: { readonly ahead: number } | { readonly at: number }) =>
    writeFileSync(file, JSON.stringify(clock));
  set({ ahead: 0 });
  return {
    env: { NODE_OPTIONS: `--import=${preload}`, TEST_WALL_CLOCK: file },
    ahead: (ms) => set({ ahead: ms }),
    at: (moment) => set({ at: moment }),
    [Symbol.dispose]: () => rmSync(dir, { recursive: true, force: true }),
  };
}
