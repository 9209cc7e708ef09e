import { createHmac } from 'node:crypto';
import { NotDelivered, type Transport } from './transport.ts';

/**
 * Posts the notification as JSON. Chat tools that accept only their own fields get only the text. With a secret, the signature is
 * the HMAC-SHA256 of the time, a point and the body, so that a receiver can refuse others and old ones.
 */
export const webhook: Transport<'url'> = async ({ address, secret }, { notification }, { post }) => {
  const send = (body: object) => {
    const text = JSON.stringify(body);
    if (secret === undefined) return post(address, body);
    const timestamp = String(Math.floor(Date.now() / 1_000));
    const signature = createHmac('sha256', secret).update(`${timestamp}.${text}`).digest('hex');
    return post(address, body, {
      'storeferry-timestamp': timestamp,
      'storeferry-signature': `v1=${signature}`,
    });
  };
  try {
    await send(notification);
  } catch (error) {
    if (!(error instanceof NotDelivered) || (error.status !== 400 && error.status !== 422)) throw error;
    await send({ text: notification.text });
  }
};

/** Posts the text to an incoming webhook of Slack. */
export const slack: Transport<'slack'> = ({ address }, { notification }, { post }) =>
  post(address, { text: notification.text });

/** Posts a card with the text to a workflow of Microsoft Teams. */
export const teams: Transport<'teams'> = ({ address }, { notification }, { post }) =>
  post(address, {
    type: 'message',
    attachments: [
      {
        contentType: 'application/vnd.microsoft.card.adaptive',
        content: {
          type: 'AdaptiveCard',
          $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
          version: '1.4',
          body: notification.text.split('\n').map((line, index) => ({
            type: 'TextBlock',
            text: line,
            wrap: true,
            ...(index === 0 ? { weight: 'bolder' } : {}),
          })),
        },
      },
    ],
  });
