import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** The slowest files take more than half a minute: begun last, they would end alone. */
const LONGEST = [
  'hostile/dashboard',
  'hostile/worker',
  'faults/ledger-beliefs.property',
  'browser/looking',
  'faults/killed-renames',
  'faults/chaos-embedded',
  'hostile/samples',
  'faults/killed-undo',
  'queue/bounded-growth',
  'cli/json-result',
  'packaging/dist',
  'bench/bench',
].map((name) => `/test/${name}.slow.test.ts`);

/** Begins with the longest files, where no earlier run is known, as in CI. */
export default class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification) => {
      const at = LONGEST.findIndex((name) => moduleId.endsWith(name));
      return at === -1 ? LONGEST.length : at;
    };
    return (await super.sort(files)).toSorted((one, other) => place(one) - place(other));
  }
}
