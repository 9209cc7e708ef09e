import { NotDelivered, type Transport } from './transport.ts';

/** Posts the notification as JSON. Chat tools that accept only their own fields get only the text. */
export const webhook: Transport = {
  name: 'webhook',
  takes: ({ protocol }) => protocol === 'http:' || protocol === 'https:',
  async send(post, notification) {
    try {
      await post(notification);
    } catch (error) {
      if (!(error instanceof NotDelivered) || (error.status !== 400 && error.status !== 422)) throw error;
      await post({ text: notification.text });
    }
  },
};
