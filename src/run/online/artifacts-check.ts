import { text } from 'node:stream/consumers';
import { type ArtifactsPlace, artifactsLocation } from '../../model/remote-address.ts';
import { openArtifacts } from '../../state/open-state.ts';
import type { Facts, OnlineCheck } from '../run-context.ts';

/** Whether the files of runs can be written, read and removed at ARTIFACTS_URL. */
export const artifactsCheck: OnlineCheck = ({ settings, newRunId }) =>
  settings === undefined
    ? []
    : [{ subject: 'artifacts', look: () => tryArtifacts(settings.artifacts, `check-${newRunId()}`) }];

async function tryArtifacts(place: ArtifactsPlace, id: string): Promise<Facts[]> {
  const artifacts = openArtifacts(place);
  const folder = artifacts.run(id);
  try {
    await folder.write('probe.txt', ['written and read again']);
    await text(await folder.read('probe.txt'));
  } finally {
    await artifacts.remove(id).catch(() => {});
  }
  return [{ verdict: 'ok', message: `can be written and read in ${artifactsLocation(place)}` }];
}
