import { type DynamicModule, Module } from '@nestjs/common';
import { RillkitModule } from '@rillkit/nestjs';
import { AuditModule } from './audit/audit.module.js';
import { BillingModule } from './billing/billing.module.js';
import { HealthModule } from './health/health.module.js';
import { MetricsModule } from './metrics/metrics.module.js';
import { OrdersModule } from './orders/orders.module.js';
import type { Settings } from './settings.js';
import { SettingsModule } from './settings.module.js';

@Module({})
export class AppModule {
  static with(settings: Settings): DynamicModule {
    const { redisUrl, worker, concurrency, leaseMs, graceMs } = settings;
    return {
      module: AppModule,
      imports: [
        SettingsModule.with(settings),
        OrdersModule,
        BillingModule,
        AuditModule,
        HealthModule,
        MetricsModule,
        // Last: handlers begin when every module above is ready, and have ended before any of them closes.
        RillkitModule.forRoot({
          connection: redisUrl ?? 'memory',
          worker,
          liveness: { leaseMs },
          shutdown: { graceMs },
          defaults: { concurrency },
        }),
      ],
    };
  }
}
