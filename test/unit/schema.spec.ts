// oxlint-disable-next-line import/no-unassigned-import -- class-transformer reads the types it keeps
import 'reflect-metadata';
import { Type } from 'class-transformer';
import { IsInt, IsString, Min, ValidateNested, registerDecorator } from 'class-validator';
import { describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { classValidator } from '../../lib/broker/class-validator.js';
import { validate } from '../../lib/broker/schema.js';
import type { StandardSchema } from '../../lib/broker/standard-schema.js';
import { Stream } from '../../lib/broker/stream.js';

class Line {
  @IsString() sku!: string;
  @IsInt() @Min(1) count!: number;
}

class OrderDto {
  @IsInt() id!: number;
  @ValidateNested({ each: true }) @Type(() => Line) lines: Line[] = [];
  label(): string {
    return `order ${this.id}`;
  }
}

describe('a schema', () => {
  it('answers at once where its validator does, transformed', () => {
    expect(validate(z.object({ id: z.string().transform(Number) }), { id: '7' }, 'orders')).toEqual({ id: 7 });
  });

  it('answers later where its validator does', async () => {
    const later = validate(
      z.number().refine(async (n) => n > 1),
      2,
      'orders',
    );
    expect(later).toBeInstanceOf(Promise);
    await expect(later).resolves.toBe(2);
    await expect(
      validate(
        z.number().refine(async (n) => n > 1),
        1,
        'orders',
      ),
    ).rejects.toMatchObject({ code: 'RILLKIT_SCHEMA' });
  });

  it('names each issue with its place', () => {
    const schema = z.object({ lines: z.array(z.object({ price: z.number() })), id: z.string() });
    expect(() => validate(schema, { lines: [{ price: 'x' }] }, 'orders')).toThrow(
      expect.objectContaining({
        code: 'RILLKIT_SCHEMA',
        message: expect.stringContaining('"orders"'),
        issues: [expect.stringMatching(/^lines\[0\]\.price: /), expect.stringMatching(/^id: /)],
      }),
    );
  });

  it('says so much of what is wrong and no more', () => {
    const issues = Array.from({ length: 5_000 }, (_, at) => ({ message: 'x'.repeat(10_000), path: [at, { key: 'y' }] }));
    const schema: StandardSchema = { '~standard': { version: 1, vendor: 'test', validate: () => ({ issues }) } };
    expect(() => validate(schema, 1, 'orders')).toThrow(
      expect.objectContaining({ issues: expect.arrayContaining(['… and 4980 more']), message: expect.stringMatching(/^.{10,1000}$/) }),
    );
  });

  it('lets through what the validator itself throws: that says nothing about the body', () => {
    const broken: StandardSchema = {
      '~standard': {
        version: 1,
        vendor: 'test',
        validate: () => {
          throw new RangeError('database away');
        },
      },
    };
    expect(() => validate(broken, 1, 'orders')).toThrow(RangeError);
  });
});

describe('a class with decorators of class-validator', () => {
  const schema = classValidator(OrderDto);

  it('makes instances of plain bodies', async () => {
    const order = await validate(schema, { id: 1, lines: [{ sku: 'a', count: 2 }] }, 'orders');
    expect(order).toBeInstanceOf(OrderDto);
    expect(order.label()).toBe('order 1');
    expect(order.lines[0]).toBeInstanceOf(Line);
  });

  it('names what breaks a rule, inner ones too', async () => {
    await expect(validate(schema, { id: 'x', lines: [{ sku: 'a', count: 0 }] }, 'orders')).rejects.toMatchObject({
      issues: [
        expect.stringMatching(/^id: id must be an integer/),
        expect.stringMatching(/^lines\.0\.count: count must not be less than 1/),
      ],
    });
  });

  it.each([[null], ['text'], [1], [[{ id: 1, lines: [] }]], [undefined]])('does not fit %j', async (body) => {
    await expect(validate(schema, body, 'orders')).rejects.toMatchObject({ issues: ['must be an object'] });
  });

  it('waits for asynchronous rules', async () => {
    class Slow {
      id = 0;
    }
    registerDecorator({ name: 'even', target: Slow, propertyName: 'id', validator: { validate: async (id: number) => id % 2 === 0 } });
    await expect(validate(classValidator(Slow), { id: 1 }, 'orders')).rejects.toMatchObject({ code: 'RILLKIT_SCHEMA' });
    await expect(validate(classValidator(Slow), { id: 2 }, 'orders')).resolves.toBeInstanceOf(Slow);
  });

  it('says which packages to install where they are not there, and says so at start', async () => {
    vi.doMock('class-validator', () => {
      throw new Error("Cannot find package 'class-validator'");
    });
    const missing = {
      code: 'RILLKIT_OPTION',
      option: 'schema',
      message: expect.stringContaining('npm install class-validator class-transformer'),
    };
    const orders = new Stream('orders', { schema: OrderDto });
    await expect(orders.load()).rejects.toMatchObject(missing);
    vi.doUnmock('class-validator');
    await orders.load();
  });

  it('is what a stream makes of a class; a Standard Schema that is a function stays what it is', async () => {
    const orders = new Stream('orders', { schema: OrderDto });
    await orders.load();
    expect(orders.schema?.['~standard'].vendor).toBe('class-validator');
    const own = Object.assign(() => 1, { '~standard': z.string()['~standard'] });
    expect(new Stream('orders', { schema: own }).schema?.['~standard'].vendor).toBe('zod');
  });
});
