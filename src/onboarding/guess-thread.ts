import { serveIsolated } from '../isolation/run-isolated.ts';
import { type ExaminationTask, runExamination } from './preview-source.ts';

/** The thread that examines a file; preview-source.ts starts it. */
serveIsolated((task: ExaminationTask) => runExamination(task));
