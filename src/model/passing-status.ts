/** Whether an HTTP status says that the same request may fare better later: 408, 429 and what is wrong on the server. */
export function isPassingStatus(status: number): boolean {
  return status === 408 || status === 429 || status >= 500;
}
