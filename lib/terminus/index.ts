export { RillkitHealthModule } from './rillkit-health.module.js';
export {
  RillkitHealthIndicator,
  type ActiveWorkersOptions,
  type DeadLettersOptions,
  type ReadyOptions,
} from './rillkit-health.indicator.js';
