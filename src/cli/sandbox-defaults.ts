/** Where the sandbox listens and which key it takes when nothing else is said. */
export const SANDBOX_DEFAULTS = { port: 4010, apiKey: 'sandbox-key' } as const;
