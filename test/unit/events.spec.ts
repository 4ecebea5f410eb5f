import { describe, expect, it } from 'vitest';
import { RillkitEvents } from '../../lib/rillkit.events.js';

const published = { type: 'published', stream: 'orders', count: 1 } as const;

describe('listeners', () => {
  it('that throw are told of, and disturb neither the others nor who emits', () => {
    const told: unknown[] = [];
    const heard: number[] = [];
    const events = new RillkitEvents((error, type) => told.push([type, String(error)]));
    events.on('published', () => {
      throw new Error('broken');
    });
    const stop = events.on('published', ({ count }) => heard.push(count));
    events.emit(published);
    stop();
    events.emit(published);
    expect(heard).toEqual([1]);
    expect(told).toEqual([
      ['published', 'Error: broken'],
      ['published', 'Error: broken'],
    ]);
  });

  it('that are asynchronous and reject are told of in the same way: no rejection goes unhandled, which would end the process', async () => {
    const told = await new Promise((resolve) => {
      const events = new RillkitEvents((error, type) => resolve([type, String(error)]));
      events.on('published', () => Promise.reject(new Error('broken')));
      events.emit(published);
    });
    expect(told).toEqual(['published', 'Error: broken']);
  });
});
