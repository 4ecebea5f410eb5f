import type { ModulesContainer } from '@nestjs/core';
import type { HostModule } from './explorer.js';

const HOOKS = ['onApplicationBootstrap', 'onModuleDestroy', 'beforeApplicationShutdown'];

/**
 * Names the modules whose handlers would run before their module has bootstrapped, and drain after it was destroyed, a sentence each.
 * Nest runs hooks by a module's distance from the root, the farthest first, and among equals in the order of the imports.
 */
export function lateModules(modules: ModulesContainer, own: HostModule, hosts: Iterable<HostModule>): readonly string[] {
  const order = [...modules.values()].toSorted((a, b) => b.distance - a.distance);
  const late = [...new Set(hosts)].filter((host) => order.indexOf(host) > order.indexOf(own));
  return late.flatMap((host) => {
    if (!imports(host, own, new Set())) {
      return `The handlers of ${host.name} may run before it has bootstrapped, and while it is destroyed: list ${own.name} last in the imports.`;
    }
    // No order of the imports helps a module that imports us; where it has no such hooks it needs no help.
    if (!hasHooks(host)) return [];
    return `The handlers of ${host.name} may run before it has bootstrapped, and while it is destroyed, since it imports ${own.name}: move them to a module of their own, listed before.`;
  });
}

function imports(from: HostModule, sought: HostModule, visited: Set<HostModule>): boolean {
  if (visited.has(from)) return false;
  visited.add(from);
  return [...from.imports].some((next) => next === sought || imports(next, sought, visited));
}

function hasHooks(module: HostModule): boolean {
  return [...module.providers.values()].some((wrapper) => {
    const instance: unknown = wrapper.instance;
    return typeof instance === 'object' && instance !== null && HOOKS.some((hook) => hook in instance);
  });
}
