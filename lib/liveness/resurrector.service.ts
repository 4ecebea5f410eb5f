import { Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { Resurrector } from './resurrector.js';

/** Runs the resurrector for as long as the application does. */
@Injectable()
export class ResurrectorService implements OnApplicationBootstrap, OnModuleDestroy {
  constructor(private readonly resurrector: Resurrector) {}

  onApplicationBootstrap(): void {
    this.resurrector.start();
  }

  async onModuleDestroy(): Promise<void> {
    await this.resurrector.stop();
  }
}
