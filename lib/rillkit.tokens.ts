import { Inject, type InjectionToken } from '@nestjs/common';
import { Broker } from './broker/broker.js';
import { OptionError } from './rillkit.errors.js';

/** The name of the instance that has none. */
export const DEFAULT_NAME = 'default';

/** What was given to `forRoot` or made by `forRootAsync`. */
export const RILLKIT_MODULE_OPTIONS = Symbol.for('RILLKIT_MODULE_OPTIONS');
/** The same, checked and complete. */
export const RILLKIT_OPTIONS = Symbol.for('RILLKIT_OPTIONS');
/** What clock and store are made from; see `@rillkit/nestjs/testing`. */
export const RILLKIT_RUNTIME = Symbol.for('RILLKIT_RUNTIME');
export const RILLKIT_STORE = Symbol.for('RILLKIT_STORE');
export const RILLKIT_CLOCK = Symbol.for('RILLKIT_CLOCK');

/** What a Broker is injected by, for `overrideProvider(getBrokerToken())` and the like: the class itself. */
export function getBrokerToken(name: string = DEFAULT_NAME): InjectionToken<Broker> {
  refuseName(name);
  return Broker;
}

/** Injects the Broker: `constructor(@InjectBroker() private readonly broker: Broker)`; the type alone does the same. */
export const InjectBroker = (name: string = DEFAULT_NAME): PropertyDecorator & ParameterDecorator => Inject(getBrokerToken(name));

/** @throws OptionError: more than one instance in an application is not there yet. */
export function refuseName(name: string | undefined): void {
  if (name !== undefined && name !== DEFAULT_NAME) throw new OptionError('name', 'is not there yet: an application has one instance');
}
