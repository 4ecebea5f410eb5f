/** The names of the metrics, and so their tokens: `getToken(METRIC.published)`. */
export const METRIC = {
  published: 'rillkit_published_total',
  handled: 'rillkit_handled_total',
  duration: 'rillkit_handler_duration_seconds',
  recovered: 'rillkit_recovered_total',
  fenced: 'rillkit_fenced_total',
  lost: 'rillkit_lost_total',
  handedBack: 'rillkit_handed_back_total',
  deadLettered: 'rillkit_dead_lettered_total',
  scrapeFailures: 'rillkit_scrape_failures_total',
  inFlight: 'rillkit_in_flight',
  undelivered: 'rillkit_undelivered',
  pending: 'rillkit_pending',
  deadLetters: 'rillkit_dead_letters',
  activeWorkers: 'rillkit_active_workers',
} as const;
