import { applyDecorators, SetMetadata } from '@nestjs/common';
import { describe, expect, it } from 'vitest';
import { Stream } from '../../lib/broker/stream.js';
import { decoratedMethods, decoratedStatics } from '../../lib/handlers/decorated-methods.js';
import { definitionsOf, STREAM_HANDLER, StreamHandler } from '../../lib/handlers/stream-handler.decorator.js';
import { HandlerError } from '../../lib/rillkit.errors.js';

const Orders = new Stream('orders');

/** As libraries for tracing and transactions do it: the method that they leave is another function. */
const wrapped = (_target: object, _key: string | symbol, descriptor: PropertyDescriptor): void => {
  const method: unknown = descriptor.value;
  descriptor.value = (...values: unknown[]): unknown =>
    typeof method === 'function' ? Reflect.apply(method, undefined, values) : undefined;
};

const Billing = (): MethodDecorator =>
  applyDecorators(StreamHandler('first', { group: 'billing' }), SetMetadata('x', 1), StreamHandler(Orders));

describe('@StreamHandler()', () => {
  it('keeps its stream and options on the method, under a key that another copy of the package has too', () => {
    class Handlers {
      @StreamHandler(Orders, { concurrency: 16 })
      bill(): void {}
    }
    expect(STREAM_HANDLER).toBe(Symbol.for('rillkit:stream-handler'));
    expect(Reflect.getMetadata(Symbol.for('rillkit:stream-handler'), Handlers.prototype.bill)).toEqual([
      { stream: Orders, options: { concurrency: 16 } },
    ]);
  });

  it('may be written several times, and keeps the order', () => {
    class Handlers {
      @StreamHandler('first')
      @StreamHandler(Orders)
      @StreamHandler('third')
      bill(): void {}
    }
    expect(definitionsOf(Handlers.prototype.bill).map(({ stream }) => stream)).toEqual(['first', Orders, 'third']);
  });

  it('works through applyDecorators, with others beside it', () => {
    class Handlers {
      @Billing()
      bill(): void {}
    }
    expect(definitionsOf(Handlers.prototype.bill)).toHaveLength(2);
  });

  it('is refused on a class and on an accessor', () => {
    class Plain {
      total = 0;
    }
    const onClass = (): void => StreamHandler('orders')(Plain);
    const onAccessor = (): void => StreamHandler('orders')(Plain.prototype, 'total', { get: () => () => undefined });
    expect(onClass).toThrow(/on a class: it sits on methods only/);
    expect(onAccessor).toThrow(/on "total": it sits on methods only/);
    expect(onAccessor).toThrow(HandlerError);
  });
});

describe('the decorated methods of a class', () => {
  class Base {
    @StreamHandler('a')
    kept(): void {}

    @StreamHandler('b')
    lost(): void {}

    @StreamHandler('c')
    again(): void {}
  }

  it('are its own and those it inherits; who overrides decides', () => {
    class Derived extends Base {
      override lost(): void {}

      @StreamHandler('d')
      override again(): void {}
    }
    class MoreDerived extends Derived {}
    const found = decoratedMethods(MoreDerived.prototype);
    expect(new Map(found.map((method) => [method.key, method]))).toEqual(
      new Map<string, unknown>([
        ['kept', expect.objectContaining({ is: 'handler', method: Base.prototype.kept })],
        ['again', expect.objectContaining({ is: 'handler', definitions: [{ stream: 'd', options: {} }] })],
        ['lost', { is: 'overridden', key: 'lost', base: 'Base' }],
      ]),
    );
    expect(found).toHaveLength(3);
  });

  it('may have symbols for names and be private', () => {
    const key = Symbol('bill');
    class Handlers {
      @StreamHandler('a')
      [key](): void {}

      @StreamHandler('b')
      private secret(): void {}

      run(): void {
        this.secret();
      }
    }
    expect(decoratedMethods(Handlers.prototype).map((method) => method.key)).toEqual(['secret', key]);
  });

  it('are told from those that another decorator has replaced', () => {
    class Handlers {
      @wrapped
      @StreamHandler('a')
      above(): void {}

      @StreamHandler('b')
      @wrapped
      below(): void {}
    }
    expect(decoratedMethods(Handlers.prototype).map(({ is, key }) => [is, key])).toEqual([
      ['wrapped', 'above'],
      ['handler', 'below'],
    ]);
  });

  it('are found without calling getters, and without a prototype', () => {
    class Handlers {
      get trap(): never {
        throw new Error('called');
      }
    }
    expect(decoratedMethods(Handlers.prototype)).toEqual([]);
    expect(decoratedMethods(null)).toEqual([]);
    expect(decoratedMethods(Object.create(null))).toEqual([]);
  });

  it('do not include static ones, which are found by themselves', () => {
    class Statics {
      @StreamHandler('a')
      static bill(): void {}

      total = 0;
    }
    class Derived extends Statics {}
    expect(decoratedMethods(Derived.prototype)).toEqual([]);
    expect(decoratedStatics(Derived)).toEqual(['bill']);
  });
});
