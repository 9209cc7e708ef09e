import { createHash } from 'node:crypto';
import { UsageError } from '../model/errors.ts';
import { loadPlots } from '../report/plots/draw-plot.ts';
import { buildDashboard, type DashboardParts } from './build-dashboard.ts';
import { type Listen, ownAddresses } from './guard/own-addresses.ts';

export interface DashboardOptions
  extends Pick<DashboardParts, 'dashboard' | 'hashes' | 'queueBoard' | 'log'> {
  readonly listen: Listen;
  /** Where browsers reach it through a proxy; undefined without one. */
  readonly publicUrl: URL | undefined;
}

/** A dashboard that can be reached. */
export interface RunningDashboard {
  /** The address to open in a browser on this machine, or the public one. */
  readonly url: string;
  /** Ends connections, live ones too. */
  close(): Promise<void>;
}

/** Serves the dashboard until it is closed. UsageError when it cannot listen there. */
export async function startDashboard(options: DashboardOptions): Promise<RunningDashboard> {
  const { dashboard, listen, publicUrl, hashes, queueBoard, log } = options;
  const workspace = createHash('sha256').update(dashboard.context.workspaceDir).digest('hex').slice(0, 8);
  const app = await buildDashboard({
    dashboard,
    hashes,
    queueBoard,
    log,
    addresses: ownAddresses(listen, publicUrl),
    behindProxy: publicUrl !== undefined,
    cookieName: `storeferry-${workspace}`,
  });
  const { host, port } = listen;
  try {
    await Promise.all([app.listen({ host, port }), loadPlots()]);
  } catch (error) {
    await app.close();
    throw cannotListen(error, listen);
  }
  const address = app.server.address();
  const bound = typeof address === 'object' && address !== null ? address.port : port;
  log.info({ host, port: bound }, 'listening');
  return {
    url: publicUrl?.href ?? `http://${urlHost(host)}:${bound}/`,
    close: () => app.close(),
  };
}

/** Of all networks this machine's own is the one to open here. */
function urlHost(host: string): string {
  if (host === '0.0.0.0' || host === '::') return 'localhost';
  return host.includes(':') ? `[${host}]` : host;
}

function cannotListen(error: unknown, { host, port }: Listen): UsageError {
  const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
  const why = code === 'EADDRINUSE' ? 'something listens there already' : code;
  return new UsageError(`The dashboard cannot listen on ${host}:${port}: ${why}.`, {
    cause: error,
    hint: 'Name another port: storeferry dashboard --listen 8701',
  });
}
