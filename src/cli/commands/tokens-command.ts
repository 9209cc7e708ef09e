import { MAX_TOKEN_DAYS, openAccounts, TOKEN_DAYS } from '../../dashboard/dashboard-context.ts';
import { API_SCOPES } from '../../model/action.ts';
import { isoTime } from '../../report/run-summary.ts';
import {
  defineCommand,
  JSON_FLAG,
  oneOf,
  optionalArgument,
  parsedOption,
  printJson,
  unknownAction,
  wholeNumber,
} from '../define-command.ts';
import { openCommandContext } from '../open-context.ts';
import { recordCommand } from '../record-command.ts';
import { withJsonError } from '../with-json-result.ts';

/** `storeferry tokens`: lists, makes and revokes the tokens by which programs use the API of the dashboard. */
export const tokensCommand = defineCommand({
  arguments: {
    action: optionalArgument('make or revoke; default: list'),
    name: optionalArgument('the name of the token'),
  },
  options: {
    scope: oneOf('scope', 'with make: each may do more than the one before; default: view', API_SCOPES),
    days: parsedOption('n', 'with make: how long it lasts', TOKEN_DAYS, wholeNumber(1, MAX_TOKEN_DAYS)),
    json: JSON_FLAG,
  },
  notes: `The dashboard serves the API at /api/v1, and describes it at /api/v1/openapi.json. A token is printed only once: its hash
is kept in .storeferry/api-tokens.json.`,
  examples: ['tokens make ci --scope operate --days 30', 'tokens', 'tokens revoke ci'],
  json: '`{"tokens":[{"name","scope","made","expires"}]}`, and with make `token`',
  run: (invocation, { action, name = '' }, { scope = 'view', days, json }) =>
    withJsonError(invocation, json, async () => {
      const { terminal } = invocation;
      await using open = await openCommandContext(invocation, { withoutThread: true });
      const tokens = openAccounts(open.context).apiTokens;
      const show = (token?: string): void => {
        const listed = tokens.list().map(({ hash: _, madeAt, expiresAt, ...known }) => ({
          ...known,
          made: isoTime(madeAt),
          expires: isoTime(expiresAt),
        }));
        if (json) printJson(terminal, { tokens: listed, token });
        else if (token !== undefined) terminal.out(`${token}\nKeep it: it is printed only now.\n`);
        else if (listed.length === 0) terminal.out('No tokens. To make one: storeferry tokens make NAME\n');
        else for (const one of listed) terminal.out(`${one.name}  ${one.scope}  until ${one.expires}\n`);
      };
      switch (action) {
        case undefined:
          show();
          return 0;
        case 'make': {
          const token = await tokens.make({ name, scope, days, by: open.context.actors ?? [] });
          await recordCommand(open.context, { action: 'make-token', about: name });
          show(token);
          return 0;
        }
        case 'revoke':
          await tokens.revoke(name);
          await recordCommand(open.context, { action: 'revoke-token', about: name });
          show();
          return 0;
        default:
          throw unknownAction(
            'tokens',
            action,
            'Type: storeferry tokens, storeferry tokens make NAME, or storeferry tokens revoke NAME',
          );
      }
    }),
});
