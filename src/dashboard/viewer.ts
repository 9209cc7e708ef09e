/** A signed-in visitor. */
export interface Viewer {
  /** False with the read-only token: its pages have no buttons, and every change is refused. */
  readonly canAct: boolean;
  /** Belongs to the session, and must come with every form (the field `CSRF_FIELD`). */
  readonly csrfToken: string;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The visitor of this request. Throws on public routes: the sign-in page, the assets, `/healthz`. */
    viewer: Viewer;
  }
}
