export { RillkitMetricsModule } from './rillkit-metrics.module.js';
