import { text } from 'node:stream/consumers';
import { type ArtifactsPlace, artifactsLocation } from '../../model/remote-address.ts';
import { openArtifacts } from '../../state/open-state.ts';
import type { OnlineCheck } from './finding.ts';

/** Whether the files of runs can be written, read again and removed where ARTIFACTS_URL says. */
export function artifactsCheck(place: ArtifactsPlace, runId: () => string): OnlineCheck {
  return {
    subject: 'artifacts',
    async look() {
      const artifacts = openArtifacts(place);
      const id = `check-${runId()}`;
      const folder = artifacts.run(id);
      try {
        await folder.write('probe.txt', ['written and read again']);
        await text(await folder.read('probe.txt'));
      } finally {
        await artifacts.remove(id).catch(() => {});
      }
      return [{ verdict: 'ok', message: `can be written and read in ${artifactsLocation(place)}` }];
    },
  };
}
