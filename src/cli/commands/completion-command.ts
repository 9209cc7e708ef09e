import { withoutAbsent } from '../../model/json-object.ts';
import { UsageError } from '../../model/storeferry-error.ts';
import { defineCommand, flagsOf, requiredArgument } from '../define-command.ts';

/** A command as a shell completes it. */
interface CompletedCommand {
  readonly name: string;
  readonly summary: string;
  /** With their descriptions. */
  readonly options: readonly { readonly name: string; readonly what: string }[];
  /** Whether it takes the name of a job. */
  readonly takesJob: boolean;
}

/** `storeferry completion`: prints a script by which a shell completes commands, their options and the names of jobs. */
export const completionCommand = defineCommand({
  arguments: { shell: requiredArgument('bash, zsh or fish') },
  options: {},
  notes: `bash: put source <(storeferry completion bash) into ~/.bashrc; zsh: the same with zsh in ~/.zshrc;
fish: storeferry completion fish > ~/.config/fish/completions/storeferry.fish.`,
  examples: ['completion bash', 'completion fish > storeferry.fish'],
  async run({ terminal, commands: registered }, { shell }) {
    const script = new Map(Object.entries(SCRIPTS)).get(shell);
    if (script === undefined)
      throw new UsageError(`There is no completion for '${shell}'.`, {
        hint: `Known shells: ${Object.keys(SCRIPTS).join(', ')}.`,
      });
    const commands = await Promise.all(
      registered.map(async ({ name, summary, load }): Promise<CompletedCommand> => {
        const definition = await load();
        const options = Object.entries(definition.options).map(([key, option]) => ({
          name: flagsOf(key, { value: null }),
          what: option.what,
        }));
        return { name, summary, options, takesJob: 'job' in definition.arguments };
      }),
    );
    terminal.out(script(commands));
    return 0;
  },
});

/** The script of each shell. */
const SCRIPTS: Readonly<Record<string, (commands: readonly CompletedCommand[]) => string>> = {
  bash: bashScript,
  zsh: (commands) => `autoload -U +X bashcompinit && bashcompinit\n${bashScript(commands)}`,
  fish: fishScript,
};

function bashScript(commands: readonly CompletedCommand[]) {
  const cases = commands.map(({ name, options, takesJob }) => {
    const words = [...options.map((option) => option.name), '--help'].join(' ');
    return `    ${name}) words='${words}'${takesJob ? ' takes_job=1' : ''} ;;`;
  });
  const names = commands.map(({ name }) => name);
  return `_storeferry() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" command='' dir=. words='' takes_job='' at file
  for ((at = 1; at < COMP_CWORD; at++)); do
    case "\${COMP_WORDS[at]}" in
      -C|--directory) dir="\${COMP_WORDS[at + 1]}" ;;
      ${names.join('|')}) command="\${COMP_WORDS[at]}"; break ;;
    esac
  done
  case "$command" in
    '') words='${[...names, '-C', '--help', '--version'].join(' ')}' ;;
${cases.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
  [[ -n $takes_job ]] || return 0
  # compgen -W would run a command that stands in the name of a file.
  for file in "$dir"/jobs/*.yaml; do
    file="\${file##*/}" file="\${file%.yaml}"
    [[ $file == "$cur"* && $file =~ ^[A-Za-z0-9][A-Za-z0-9._-]*$ ]] && COMPREPLY+=("$file")
  done
  return 0
}
complete -o default -F _storeferry storeferry
`;
}

function fishScript(commands: readonly CompletedCommand[]) {
  const lines = commands.flatMap(({ name, summary, options, takesJob }) => {
    const seen = `complete -c storeferry -n '__fish_seen_subcommand_from ${name}'`;
    return withoutAbsent([
      `complete -c storeferry -f -n __fish_use_subcommand -a ${name} -d ${quoted(summary)}`,
      ...options.map((option) => `${seen} -l ${option.name.slice('--'.length)} -d ${quoted(option.what)}`),
      takesJob && `${seen} -f -a '(path change-extension "" (path basename jobs/*.yaml))'`,
    ]);
  });
  return `complete -c storeferry -s C -l directory -r -d 'the workspace'\n${lines.join('\n')}\n`;
}

/** As one word of fish. */
function quoted(text: string) {
  return `'${text.replaceAll(/['\\]/g, '\\$&')}'`;
}
