import type { StoreError } from '../../rillkit.errors.js';
import type { Beat, BeatRequest, Place, Recovery, Scan, SignOff, StreamStore } from '../stream-store.js';
import type { Connection } from './connection.js';
import { storeErrorOf } from './errors.js';
import type { Keys } from './keys.js';
import { idsOf, listOf, numberOf, numberOrNullOf, textsOf, wordOf } from './replies.js';
import { beat } from './scripts/beat.js';
import { recover } from './scripts/recover.js';
import { scan } from './scripts/scan.js';
import { signOff } from './scripts/sign-off.js';

/** Who is alive, and what becomes of the messages of who is not. */
export class Leases {
  constructor(
    private readonly commands: Connection,
    private readonly keys: Keys,
  ) {}

  /** Sent together, answered each for itself. */
  async beat(requests: readonly BeatRequest[]): Promise<readonly (Beat | StoreError)[]> {
    return Promise.all(requests.map((request) => this.beatOne(request).catch(storeErrorOf)));
  }

  async heartbeat(places: readonly (Place & { readonly worker: string })[], ttlMs: number): Promise<void> {
    await Promise.all(places.map((place) => this.heartbeatOne(this.keys.heartbeat(place, place.worker), ttlMs)));
  }

  async recover(place: Place, worker: string, { count, graveMs }: Parameters<StreamStore['recover']>[2]): Promise<Recovery> {
    const [is, parked, lost] = listOf(await this.commands.run(recover, this.all(place), [place.group, worker, count, graveMs]));
    return { is: wordOf(is, 'alive', 'more', 'parked', 'buried'), parked: numberOf(parked), lost: idsOf(lost) };
  }

  async signOff(place: Place, worker: string, options: Parameters<StreamStore['signOff']>[2]): Promise<SignOff> {
    const { count, maxHandBacks, sure, tag } = options;
    const args = [place.group, worker, tag ?? '', count, maxHandBacks, sure ? 1 : 0];
    const [is, parked, lost] = listOf(await this.commands.run(signOff, this.all(place), args));
    return { is: wordOf(is, 'more', 'done', 'left'), parked: numberOf(parked), lost: idsOf(lost) };
  }

  async scan(place: Place, { claimIdleMs, count }: Parameters<StreamStore['scan']>[1]): Promise<Scan> {
    const [foreign, repaired, lost] = listOf(await this.commands.run(scan, this.all(place), [place.group, claimIdleMs, count]));
    return { foreign: numberOf(foreign), repaired: numberOf(repaired), lost: idsOf(lost) };
  }

  private async beatOne(request: BeatRequest): Promise<Beat> {
    const { worker, tag, leaseMs, scanMs, since, takeOver } = request;
    const keys = [this.keys.leases(request), this.keys.parked(request)];
    const reply = listOf(await this.commands.run(beat, keys, [worker, tag, leaseMs, scanMs, since ?? 0, takeOver ? 1 : 0]));
    if (wordOf(reply[0], 'beaten', 'taken') === 'taken') return { is: 'taken', leaseLeftMs: numberOf(reply[1]) };
    return {
      is: 'beaten',
      atMs: numberOf(reply[1]),
      before: wordOf(reply[2], 'live', 'over', 'none'),
      firstDueMs: numberOrNullOf(reply[3]),
      scan: numberOf(reply[4]) === 1,
      paused: numberOf(reply[5]) === 1,
      over: textsOf(reply[6]),
    };
  }

  /** Prolonged where it is there: SET is refused when memory is out. */
  private async heartbeatOne(key: string, ttlMs: number): Promise<void> {
    if (ttlMs === 0) return void (await this.commands.call('DEL', key));
    if (numberOf(await this.commands.call('PEXPIRE', key, ttlMs)) === 0) await this.commands.call('SET', key, '1', 'PX', ttlMs);
  }

  private all(place: Place): readonly string[] {
    return [this.keys.stream(place.stream), this.keys.leases(place), this.keys.parked(place)];
  }
}
