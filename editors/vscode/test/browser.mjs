// The extension in VS Code in a browser: code-server with the packed extension, and Chromium. See docs/editors/vscode.md.
//   node test/browser.mjs URL CHROMIUM [SCREENSHOT]
// URL opens a folder with a copy of tests/editors/particles.py.

import assert from 'node:assert/strict';
import { chromium } from 'playwright-core';

const [url, executablePath, screenshot] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });
const page = await browser.newPage({ viewport: { width: 1440, height: 860 } });
page.setDefaultTimeout(120_000);

const ok = what => console.log(`ok ${what}`);
const line = (editor, text) => page.locator(`${editor} .view-line`).filter({ hasText: text }).first();

await page.goto(url, { waitUntil: 'domcontentloaded' });
await page.waitForSelector('.monaco-workbench');
await page.getByRole('treeitem', { name: 'particles.py' }).dblclick();

const lens = name => page.locator('.codelens-decoration a').filter({ hasText: new RegExp(`^${name}$`) }).first();
await lens('CUDA').waitFor();
ok('lenses');
await page.waitForSelector('.squiggly-error');
ok('findings');
await page.waitForSelector('text=: vec3f');
ok('hints');

await lens('CUDA').click();
const [source, view] = ['[data-uri$="particles.py"]', '[data-uri^="kc-view:"]'];
await page.waitForSelector(`${view} .view-line`);
ok('view beside the source');

// A line of the source marks its lines in the view. Marks are painted behind the text, one for each line.
const marks = editor => page.locator(`${editor} .view-overlays .cdr`);
const plain = await marks(view).count();
await line(source, 'wp.length(here').click();
await page.waitForFunction(
    ([selector, before]) => document.querySelectorAll(selector).length > before,
    [`${view} .view-overlays .cdr`, plain],
);
ok('marks in the view');
if (screenshot) {
    await page.waitForTimeout(1000);
    await page.screenshot({ path: screenshot });
}
const before = await marks(source).count();
await line(view, 'total +=').click();
await page.waitForFunction(
    ([selector, before]) => document.querySelectorAll(selector).length !== before,
    [`${source} .view-overlays .cdr`, before],
);
ok('marks in the source');

// The fix of the first error takes its squiggle away.
const errors = await page.locator('.squiggly-error').count();
await line(source, 'x[i] = x[i] * i').click();
await page.keyboard.press('Control+.');
await page.locator('.action-widget').getByText('Convert it').first().click();
await page.waitForFunction(count => document.querySelectorAll('.squiggly-error').length < count, errors);
assert.ok(await line(source, 'float(i)').isVisible());
ok('fix');

await browser.close();
console.log('all ok');
