import { Module } from '@nestjs/common';
import { TerminusModule } from '@nestjs/terminus';
import { RillkitHealthModule } from '@rillkit/nestjs/terminus';
import { HealthController } from './health.controller.js';

@Module({ imports: [TerminusModule, RillkitHealthModule], controllers: [HealthController] })
export class HealthModule {}
