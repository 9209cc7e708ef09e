// Plans a job of the workspace in a folder, and sends the plan if nothing was rejected; in a package with "type": "module":
// node library-example.ts FOLDER JOB
import { openWorkspace } from 'storeferry';

const [, , folder = '.', job = 'nightly-catalog'] = process.argv;
await using workspace = await openWorkspace(folder);
const plan = workspace.plan(job);
for await (const event of plan.events) {
  if (event.type === 'progress') console.error(`${event.step}: ${event.done} ${event.unit}`);
}
const { run, status, rejected } = await plan.result;
if (status === 'planned' && rejected === 0) {
  const sent = await workspace.approve(run).result;
  console.log(`${sent.run}: ${sent.status}, ${sent['applied']} sent`);
} else {
  console.log(`${run}: ${status}, ${rejected} rejected`);
}
