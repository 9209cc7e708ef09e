import { BaseSequencer } from 'vitest/node';

/** Folders whose files take minutes, as far as any do. */
const LONG = ['/test/hostile/', '/test/faults/', '/test/browser/', '/test/packaging/'];

/**
 * Begins with the files that take longest, so that none of them is left alone at the end. Vitest knows how long each took last
 * time, but not in a fresh clone: there it goes by their size.
 */
export default class LongestFirst extends BaseSequencer {
  override async sort(...[files]: Parameters<BaseSequencer['sort']>) {
    const sorted = await super.sort(files);
    const { long = [], others = [] } = Object.groupBy(sorted, ({ moduleId }) =>
      LONG.some((folder) => moduleId.includes(folder)) ? 'long' : 'others',
    );
    return [...long, ...others];
  }
}
