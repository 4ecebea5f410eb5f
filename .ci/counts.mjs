// node counts.mjs REPORT STATUS: prints "PASSED FAILED" from vitest's JSON report and its exit status.
import { readFileSync } from 'node:fs';

const [, , file, status] = process.argv;
const { numPassedTests, numFailedTests } = JSON.parse(readFileSync(file, 'utf8'));
const elsewhere = numFailedTests === 0 && (status !== '0' || numPassedTests === 0);
console.log(numPassedTests, elsewhere ? 1 : numFailedTests);
