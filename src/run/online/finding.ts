/** What a look at one thing outside the workspace has shown. */
export interface Finding {
  readonly subject: string;
  readonly verdict: 'ok' | 'warning' | 'error' | 'not-checked';
  readonly message: string;
  /** What to do about it. */
  readonly hint?: string | undefined;
}

/** A look at one thing that a run needs. */
export interface OnlineCheck {
  /** What its findings are about, such as `store main`. */
  readonly subject: string;
  /** Gives findings, or rejects: that is an error of its own. */
  look(signal: AbortSignal): Promise<readonly Omit<Finding, 'subject'>[]>;
}
