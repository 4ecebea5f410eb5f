cd /work/wt/sim; node_modules/.bin/tsc -p tsconfig.build.json && timeout 100 node dist/test/simulation/simulate.js "$@" | tail -${TAIL:-45}
