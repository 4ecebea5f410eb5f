import { NestFactory } from '@nestjs/core';
import { AppModule } from './app.module.js';
import { Settings } from './settings.js';
import { welcome } from './welcome.js';

async function main(): Promise<void> {
  const settings = new Settings(process.env);
  const app = await NestFactory.create(AppModule.with(settings));
  app.enableShutdownHooks();
  await app.listen(settings.port);
  // Nest names the address that it listens on, which reads as nobody would type it.
  const address = (await app.getUrl()).replace('[::1]', 'localhost');
  console.log(welcome(address, settings.redisUrl));
}

main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exit(1);
});
