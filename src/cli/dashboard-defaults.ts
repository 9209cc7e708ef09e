/** The defaults of `dashboard`: it listens on this machine only. */
export const DASHBOARD_DEFAULTS = { listen: '127.0.0.1:8700' } as const;
