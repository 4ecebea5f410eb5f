import type { Redis } from 'ioredis';
import { textOf } from './replies.js';

/**
 * Kills a connection by its number, if it is the one of that name: after a restart, or on another server, the number may be anybody's.
 * Answers whether it is surely gone. When it is, nothing that was sent on it and not yet begun is carried out any more.
 */
export async function killClient(client: Redis, id: number, name: string): Promise<boolean> {
  try {
    const line = textOf(await client.callBuffer('CLIENT', 'LIST', 'ID', id));
    if (/(?:^| )name=(\S*)/.exec(line)?.[1] !== name) return true;
    await client.callBuffer('CLIENT', 'KILL', 'ID', id);
    return true;
  } catch {
    // Not allowed, or no connection: the caller is told, and goes on without being sure.
    return false;
  }
}
