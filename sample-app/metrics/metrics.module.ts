import { Module } from '@nestjs/common';
import { RillkitMetricsModule } from '@rillkit/nestjs/prometheus';
import { PrometheusModule } from '@willsoto/nestjs-prometheus';

/** `GET /metrics`: those of Node, and Rillkit's beside them. */
@Module({ imports: [PrometheusModule.register(), RillkitMetricsModule] })
export class MetricsModule {}
