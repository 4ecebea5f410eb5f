import { NestFactory } from '@nestjs/core';
import { AppModule } from './app.module.js';
import { startPrivateRedis } from './redis/private-redis.js';
import { Settings } from './settings.js';
import { welcome } from './welcome.js';

async function main(): Promise<void> {
  const redisUrl = process.env['REDIS_URL'] || (await startPrivateRedis());
  const settings = new Settings({ ...process.env, REDIS_URL: redisUrl });
  const app = await NestFactory.create(AppModule.with(settings));
  app.enableShutdownHooks();
  await app.listen(settings.port);
  // Nest names the address that it listens on, which reads as nobody would type it.
  const address = (await app.getUrl()).replace('[::1]', 'localhost');
  console.log(welcome(address, redisUrl));
}

main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exit(1);
});
