/** Where the dashboard logs what people do and what goes wrong; secrets are taken out behind it. */
export interface DashboardLog {
  info(details: object, message: string): void;
  warn(details: object, message: string): void;
  error(details: object, message: string): void;
}
