import { Controller, Get, Module } from '@nestjs/common';
import { HealthCheck, HealthCheckService, TerminusModule } from '@nestjs/terminus';
import { RillkitMetricsModule } from '@rillkit/nestjs/prometheus';
import { RillkitHealthIndicator, RillkitHealthModule } from '@rillkit/nestjs/terminus';
import { PrometheusModule } from '@willsoto/nestjs-prometheus';
import { Orders } from './schema.js';

@Controller('health')
class HealthController {
  constructor(
    private readonly health: HealthCheckService,
    private readonly rillkit: RillkitHealthIndicator,
  ) {}

  @Get('ready')
  @HealthCheck()
  ready() {
    return this.health.check([
      () => this.rillkit.isReady('rillkit'),
      () => this.rillkit.activeWorkers('billing', { stream: Orders, group: 'billing', min: 1 }),
      () => this.rillkit.deadLetters('deadLetters', { stream: Orders, max: 100 }),
    ]);
  }
}

@Module({
  imports: [TerminusModule, RillkitHealthModule, PrometheusModule.register(), RillkitMetricsModule],
  controllers: [HealthController],
})
export class ObservabilityModule {}
