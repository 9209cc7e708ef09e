/** Whoever has signed in. */
export interface Viewer {
  /** False for those who may only look: their pages have no buttons, and what they send is refused. */
  readonly canAct: boolean;
  /** Belongs to the session, and must come with every form (the field `CSRF_FIELD`). */
  readonly csrfToken: string;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Who asks. Throws where nobody need have signed in: the sign-in page and the assets. */
    viewer: Viewer;
  }
}
