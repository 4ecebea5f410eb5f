import { describe } from 'vitest';
import { openMemory } from '../support/memory-store.js';
import { holdsTheContract } from './store-suite.js';

describe('the memory store', () => {
  holdsTheContract(async () => openMemory());
});
