import { Module } from '@nestjs/common';
import { TerminusModule } from '@nestjs/terminus';
import { RillkitHealthIndicator } from './rillkit-health.indicator.js';

/** Offers {@link RillkitHealthIndicator} to the module that imports it; it stands beside the application's own TerminusModule. */
@Module({ imports: [TerminusModule], providers: [RillkitHealthIndicator], exports: [RillkitHealthIndicator] })
export class RillkitHealthModule {}
