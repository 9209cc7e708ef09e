import type { Environment } from '../../config/environment.ts';
import type { Prompter } from './prompter.ts';

/** What the flags of `init` answer. */
export interface InitOptions {
  readonly storeUrl?: string;
  readonly sandbox?: true;
  readonly store?: string;
  readonly weightUnit?: string;
  readonly source?: string;
  readonly encoding?: string;
  readonly delimiter?: string;
  readonly copy?: true;
  readonly mapping?: string;
  readonly import?: string;
  readonly param?: Readonly<Record<string, string>>;
  readonly crosswalk?: string;
  readonly crosswalkMatch?: string;
  readonly crosswalkId?: string;
  readonly job?: string;
  readonly schedule?: string;
  readonly timezone?: string;
  readonly yes?: true;
}

/** How questions are answered: by flags, by a person, or by what is usual. */
export interface Asking {
  readonly options: InitOptions;
  /** Null where there is no terminal, or nobody is to be asked. */
  readonly prompter: Prompter | null;
  /** The process's variables before those of the workspace's `.env`. */
  readonly environment: Environment;
  /** The workspace to be, an absolute path. */
  readonly dir: string;
  readonly say: (line: string) => void;
}
