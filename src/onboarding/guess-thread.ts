import { serveIsolated } from '../isolation/run-isolated.ts';
import { type GuessTask, guessSource, previewRecords } from './preview-source.ts';

/** The thread that examines a file for a page; preview-source.ts starts it. */
serveIsolated(async (task: GuessTask) => {
  switch (task.kind) {
    case 'guess':
      return await guessSource(task.request);
    case 'preview':
      return await previewRecords(task.look, task.spec, task.options);
    default:
      return task satisfies never;
  }
});
