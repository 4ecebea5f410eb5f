import { describe, inject } from 'vitest';
import { redisUnderTest } from '../support/redis-under-test.js';
import { holdsTheContract } from './store-suite.js';

describe('the Redis store', () => {
  holdsTheContract(() => redisUnderTest(inject('redisUrl'), { cluster: false }));
});

describe('the Redis store with keys as on a cluster', () => {
  holdsTheContract(() => redisUnderTest(inject('redisUrl'), { cluster: true }));
});
