import { Controller, Get } from '@nestjs/common';
import { HealthCheck, type HealthCheckResult, HealthCheckService } from '@nestjs/terminus';
import { RillkitHealthIndicator } from '@rillkit/nestjs/terminus';
import { Orders } from '../orders/order.js';

@Controller('health')
export class HealthController {
  constructor(
    private readonly health: HealthCheckService,
    private readonly rillkit: RillkitHealthIndicator,
  ) {}

  /** The process answers. Kept off Terminus, which answers 503 on every check of its own while the application closes. */
  @Get('live')
  live(): { status: 'ok' } {
    return { status: 'ok' };
  }

  /** Orders can be taken and billed. */
  @Get('ready')
  @HealthCheck()
  ready(): Promise<HealthCheckResult> {
    return this.health.check([
      () => this.rillkit.isReady('rillkit'),
      () => this.rillkit.activeWorkers('billing', { stream: Orders, group: 'billing', min: 1 }),
      () => this.rillkit.deadLetters('deadLetters', { stream: Orders, max: 1_000 }),
    ]);
  }
}
