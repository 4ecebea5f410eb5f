/** What a person would like to see when the shop runs. */
export const welcome = (address: string, redisUrl: string | null): string => `
The shop is open at ${address}, ${redisUrl === null ? IN_MEMORY : `its Redis is ${withoutPassword(redisUrl)}`}

  curl -s ${address}/orders -H 'content-type: application/json' -d '{"id":"o-1","total":12.5,"outcome":"failTwice"}'
  curl -s ${address}/orders/o-1
  curl -s ${address}/health/ready

Outcomes to try: succeed, failTwice, fail, reject. Ctrl-C closes the shop; orders being billed are finished first.
`;

const IN_MEMORY = 'all it knows is kept in memory and ends with it (set REDIS_URL to keep it in Redis)';

function withoutPassword(url: string): string {
  const shown = new URL(url);
  if (shown.password) shown.password = '***';
  return shown.href;
}
