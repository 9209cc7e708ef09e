import type { FastifyRequest } from 'fastify';
import type { DashboardContext } from '../dashboard-context.ts';
import type { PageParts } from './layout.ts';

/** What all pages of a dashboard have in common for this visitor. */
export function frameOf(
  { workspaceName, redisUrl }: Pick<DashboardContext, 'workspaceName' | 'redisUrl'>,
  { viewer }: Pick<FastifyRequest, 'viewer'>,
): Frame {
  return { viewer, workspace: workspaceName, queues: redisUrl !== undefined };
}

export type Frame = Required<Pick<PageParts, 'workspace' | 'queues'>> & {
  readonly viewer: NonNullable<PageParts['viewer']>;
};
