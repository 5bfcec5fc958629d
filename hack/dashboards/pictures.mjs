// Takes a picture of each dashboard, light and dark, with headless Chromium:
// node pictures.mjs DIRECTORY-OF-THE-PAGE DIRECTORY-OF-THE-PICTURES
import { spawnSync } from 'node:child_process';
import { readFileSync, readdirSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';

const [from, to] = process.argv.slice(2).map((p) => resolve(p));
const WIDTH = 1400, HEADER = 96, ROW = 38, LARGEST = 300_000;
const names = readdirSync(from).filter((f) => f.endsWith('.js') && f !== 'page.js').map((f) => f.slice(0, -3));
if (!names.length) throw new Error(`no dashboards in ${from}`);
let failed = false;
for (const name of names) {
  const text = readFileSync(join(from, `${name}.js`), 'utf8').replace(/^window\.drawing = /, '');
  const { dashboard } = JSON.parse(text);
  const height = HEADER + ROW * Math.max(...dashboard.panels.map((p) => p.gridPos.y + p.gridPos.h));
  for (const theme of ['light', 'dark']) {
    const picture = join(to, `${name}-${theme}.png`);
    const { status, stderr } = spawnSync('chromium-headless-shell', [
      '--no-sandbox', '--disable-gpu', '--hide-scrollbars', '--force-device-scale-factor=1', '--enable-logging=stderr',
      '--virtual-time-budget=10000', `--window-size=${WIDTH},${height}`, `--screenshot=${picture}`,
      `file://${from}/page.html?dashboard=${name}&theme=${theme}`,
    ], { encoding: 'utf8' });
    const said = stderr.split('\n').filter((l) => l.includes('CONSOLE')).join('\n');
    const { length } = dashboard.panels;
    const { size } = status === 0 ? statSync(picture) : { size: 0 };
    if (status !== 0 || !said.includes(`drawn: ${length} of ${length} panels`) || size > LARGEST) {
      failed = true;
      console.error(`${name}, ${theme}: status ${status}, ${size} bytes\n${said || stderr}`);
    } else {
      console.log(`${picture}: ${length} panels, ${size} bytes`);
    }
  }
}
if (failed) process.exit(1);
