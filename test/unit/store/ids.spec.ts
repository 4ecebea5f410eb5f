import { expect, it } from 'vitest';
import { compareIds } from '../../../lib/store/ids.js';

it('ids are ordered as numbers, also those that no JavaScript number holds', () => {
  const ordered = [
    '0-1',
    '9-0',
    '10-0',
    '1764504000000-0',
    '1764504000000-2',
    '1764504000000-9',
    '1764504000000-10',
    '1764504000000-99999999999999998',
    '1764504000000-99999999999999999',
    '1764504000001-0',
    '18446744073709551615-18446744073709551614',
    '18446744073709551615-18446744073709551615',
  ];
  for (let shift = 1; shift < ordered.length; shift += 1) {
    const turned = [...ordered.slice(shift), ...ordered.slice(0, shift)];
    expect(turned.toSorted(compareIds)).toEqual(ordered);
  }
  expect(compareIds('5-5', '5-5')).toBe(0);
});
