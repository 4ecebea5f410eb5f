import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { createInterface } from 'node:readline';

// The shell waits for its input to close, which the kernel does when this process ends, in whatever way; then it ends the server.
const KEEPER = `
command -v redis-server >/dev/null || exit 127
folder=$(mktemp -d) && cd "$folder" || exit
redis-server --port "$1" --bind 127.0.0.1 --save '' --appendonly no &
exec >&-
read -r _
kill $! && wait $!
rm -rf "$folder"`;

/**
 * Starts a redis-server for this process alone, in a folder of its own, and answers its URL. It ends with the process.
 * @throws Error saying what to do when there is no redis-server, or it does not start.
 */
export async function startPrivateRedis(): Promise<string> {
  const port = await freePort();
  // Detached: Ctrl-C in a terminal reaches the whole foreground group, and Redis has to outlive the shop's own shutdown.
  const keeper = spawn('sh', ['-c', KEEPER, 'private-redis', String(port)], { detached: true, stdio: ['pipe', 'pipe', 'inherit'] });
  keeper.unref();
  for await (const line of createInterface({ input: keeper.stdout })) {
    if (!line.includes('Ready to accept connections')) continue;
    keeper.stdout.destroy();
    return `redis://127.0.0.1:${port}`;
  }
  keeper.stdin.end();
  throw new Error(
    'The shop needs Redis: set REDIS_URL, or install redis-server so that a private one can be started (on Debian: apt-get install redis-server).',
  );
}

/** A port that nobody listens on, chosen by the system. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('The system gave no port.');
  return address.port;
}
