import { MAX_TOKEN_DAYS, openAccounts, TOKEN_DAYS } from '../../dashboard/dashboard-context.ts';
import { API_SCOPES } from '../../model/action.ts';
import { UsageError } from '../../model/storeferry-error.ts';
import { isoTime } from '../../report/run-summary.ts';
import { oneOf, optionalArgument, parsedOption, unknownAction, wholeNumber } from '../define-command.ts';
import { defineStateCommand } from '../define-state-command.ts';
import { recordCommand } from '../record-command.ts';

/** `storeferry tokens`: lists, makes and revokes the tokens by which programs use the API of the dashboard. */
export const tokensCommand = defineStateCommand({
  arguments: {
    action: optionalArgument('make or revoke; default: list'),
    name: optionalArgument('the name of the token'),
  },
  options: {
    scope: oneOf('scope', 'with make: each may do more than the one before; default: view', API_SCOPES),
    days: parsedOption('n', 'with make: how long it lasts', TOKEN_DAYS, wholeNumber(1, MAX_TOKEN_DAYS)),
  },
  notes: `The dashboard serves the API at /api/v1, and describes it at /api/v1/openapi.json. A token is printed only once: its hash
is kept in .storeferry/api-tokens.json.`,
  examples: ['tokens make ci --scope operate --days 30', 'tokens', 'tokens revoke ci'],
  json: '`{"tokens":[{"name","scope","made","expires"}]}`, and with make `token`',
  withoutThread: true,
  check({ action }, { scope, days }) {
    if (action !== 'make' && (scope !== undefined || days !== TOKEN_DAYS))
      throw new UsageError('--scope and --days are for tokens make.');
  },
  async run({ context }, { action, name = '' }, { scope = 'view', days }) {
    const tokens = openAccounts(context).apiTokens;
    let token: string | undefined;
    switch (action) {
      case undefined:
        break;
      case 'make':
        token = await tokens.make({ name, scope, days, by: context.actors ?? [] });
        await recordCommand(context, { action: 'make-token', about: name });
        break;
      case 'revoke':
        await tokens.revoke(name);
        await recordCommand(context, { action: 'revoke-token', about: name });
        break;
      default:
        throw unknownAction(
          'tokens',
          action,
          'Type: storeferry tokens, storeferry tokens make NAME, or storeferry tokens revoke NAME',
        );
    }
    const listed = tokens.list().map(({ hash: _, madeAt, expiresAt, ...known }) => ({
      ...known,
      made: isoTime(madeAt),
      expires: isoTime(expiresAt),
    }));
    const lines = listed.map((one) => `${one.name}  ${one.scope}  until ${one.expires}\n`);
    return {
      json: { tokens: listed, token },
      text:
        token === undefined
          ? lines.join('') || 'No tokens. To make one: storeferry tokens make NAME\n'
          : `${token}\nKeep it: it is printed only now.\n`,
    };
  },
});
