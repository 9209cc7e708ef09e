/** What was wrong with a request, to be shown as a page: what happened, and what to do. */
export class PageError extends Error {
  readonly statusCode: number;
  readonly title: string;

  constructor(statusCode: number, title: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'PageError';
    this.statusCode = statusCode;
    this.title = title;
  }
}

/** There is no page at this address. */
export function notFound(message = 'There is no page at this address.'): PageError {
  return new PageError(404, 'Not found', message);
}
