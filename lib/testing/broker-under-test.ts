import type { ModuleRef } from '@nestjs/core';
import { Broker } from '../broker/broker.js';
import { messageIdOf } from '../broker/envelope.js';
import type { Stream } from '../broker/stream.js';
import { Consumers } from '../consumer/consumers.js';
import type { SubscriptionStatus } from '../consumer/subscription.js';
import { attemptOf } from '../handlers/message.js';
import type { EventOf } from '../rillkit.events.js';
import type { RillkitRuntime } from '../rillkit-runtime.js';
import { entriesOf } from '../store/memory/entries.js';
import type { Keyspace } from '../store/memory/keyspace.js';
import { deadLetters } from '../store/memory/letters.js';
import { MemoryStore } from '../store/memory/memory-store.js';
import { firstDueMs } from '../store/memory/parking.js';
import { stats } from '../store/memory/questions.js';
import type { ConnectionState, EntryId, Fields, StreamStore } from '../store/stream-store.js';
import { deadOf, handledOf, publishedOf, type DeadMessage, type HandledMessage, type Noted, type PublishedMessage } from './records.js';
import type { TestClock } from './test-clock.js';

const ALL = Number.MAX_SAFE_INTEGER;

/** A message whose handler runs. */
export interface Running {
  /** Tells one delivery from all others. */
  readonly key: string;
  /** Handler, message, attempt, and since when, in words. */
  readonly told: string;
}

/** One broker of the application with its consumers, on a memory store of its own: what a test can see of it. */
export class BrokerUnderTest implements RillkitRuntime {
  private readonly memory = new MemoryStore();
  private store: StreamStore | null = null;
  private readonly noted: Noted[] = [];

  /** `module`: the one that provides the broker; asked for nothing before the application has been made. */
  constructor(
    readonly clock: TestClock,
    private readonly module: ModuleRef,
  ) {}

  /** Wherever the real one would be. */
  readonly openStore: RillkitRuntime['openStore'] = (_, deps) => {
    deps.events.on('handled', (event) => this.note(event));
    this.store = this.memory.open(deps);
    return this.store;
  };

  get state(): ConnectionState {
    return this.store?.state ?? 'idle';
  }

  get broker(): Broker {
    return this.module.get(Broker);
  }

  /** Messages whose handlers run, and, with `manual`, those that wait for a decision. */
  running(): readonly Running[] {
    return this.subscriptions().flatMap((status) => this.runningOf(status));
  }

  /** What there is to do now, in words: nothing of it waits for a later time. */
  unfinished(): readonly string[] {
    return this.subscriptions().flatMap((status) => {
      const running = this.runningOf(status).map(({ told }) => told);
      return running.length > 0 ? running : this.waitingFor(status);
    });
  }

  published(stream: Stream): readonly PublishedMessage[] {
    const { data } = this;
    return entriesOf(data, data.keys.stream(stream.name), { count: ALL }).map((entry) => publishedOf(stream, entry));
  }

  handled(stream: Stream, group: string | undefined): readonly HandledMessage[] {
    return this.noted
      .filter((noted) => noted.stream === stream.name && (group === undefined || noted.group === group))
      .map((noted) => handledOf(stream, noted));
  }

  deadLetters(stream: Stream): readonly DeadMessage[] {
    return deadLetters(this.data, stream.name, { after: null, count: ALL }).map((entry) => deadOf(stream, entry));
  }

  private subscriptions(): readonly SubscriptionStatus[] {
    return this.module.get(Consumers).status();
  }

  private runningOf(status: SubscriptionStatus): readonly Running[] {
    if (status.running === 0) return [];
    const { handler, stream, group, worker, waiting } = status;
    const pending = this.data.streamOf(status)?.groups.get(group)?.pageAt(worker, 0, ALL) ?? [];
    // What was read ahead came last, and for the first time.
    const first = pending.filter(({ number }) => number === 1);
    const ahead = new Set(first.slice(first.length - waiting));
    return pending
      .filter((one) => !ahead.has(one))
      .map(({ id, number, deliveredAtMs }) => {
        const messageId = messageIdIn(this.fieldsOf(stream, id), id);
        const since = new Date(deliveredAtMs).toISOString();
        const told = `${handler} has message "${messageId}" (entry ${id}, attempt ${attemptOf(number)}) since ${since} by the test's clock`;
        return { key: JSON.stringify([stream, worker, id, number]), told };
      });
  }

  private waitingFor(status: SubscriptionStatus): readonly string[] {
    const { handler, waiting, unanswered, lease, failures } = status;
    const nowMs = Math.floor(this.clock.wallMs());
    const { undelivered, length } = stats(this.data, status, nowMs);
    const hasGroup = this.data.streamOf(status)?.groups.has(status.group) ?? false;
    const left: readonly (readonly [is: boolean, told: string])[] = [
      [lease === 'none', 'has no lease yet'],
      [hasGroup ? (undelivered ?? 0) > 0 : (length ?? 0) > 0, `has not read all there is (${failures} failures, lease ${lease})`],
      [firstDueMs(this.data, status, nowMs, 0) === 0, `has not taken what is due (${failures} failures, lease ${lease})`],
      [waiting > 0, `has ${waiting} messages that it has not started`],
      [unanswered > 0, `has ${unanswered} settlements without an answer`],
    ];
    return left.filter(([is]) => is).map(([, told]) => `${handler} ${told}`);
  }

  private note({ stream, group, id, attempt, outcome, error }: EventOf<'handled'>): void {
    this.noted.push({ stream, group, id, attempt, outcome, error, fields: this.fieldsOf(stream, id) });
  }

  private fieldsOf(stream: string, id: EntryId): Fields {
    return entriesOf(this.data, this.data.keys.stream(stream), { from: id, to: id, count: 1 })[0]?.fields ?? [];
  }

  private get data(): Keyspace {
    return this.memory.server.data;
  }
}

/** By the field that all of the library's codecs write. */
function messageIdIn(fields: Fields, id: EntryId): string {
  const messageId = fields.find(([name]) => name === 'messageId')?.[1].toString();
  return messageIdOf({ body: undefined, messageId }, fields, id);
}
