// Makes src/explore/page/editor.min.js: the parts of CodeMirror that the page of `kc explore` uses, in one file, with
// the licences of all that is in it. Run `npm ci && npm run build` here after a change.

import { build } from 'esbuild';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const result = await build({
    entryPoints: ['editor.js'], bundle: true, minify: true, format: 'iife', globalName: 'CodeMirror', target: 'es2022',
    charset: 'ascii', legalComments: 'none', metafile: true, write: false,
});

// The packages that are in it, and the text of each of their licences once.
const packages = new Map();
for (const input of Object.keys(result.metafile.inputs).filter(name => name.startsWith('node_modules/'))) {
    let folder = dirname(input);
    while (!existsSync(join(folder, 'LICENSE'))) folder = dirname(folder);
    const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json')));
    packages.set(`${name} ${version} (${license})`, readFileSync(join(folder, 'LICENSE'), 'utf8').trim());
}
const texts = [...new Set(packages.values())].map(text => {
    const names = [...packages].filter(([, own]) => own === text).map(([name]) => name).sort();
    return `${names.join(', ')}\n\n${text}`;
});
const notice = `/*! Made by scripts/explorer/build.mjs of these packages:\n\n${texts.join('\n\n')}\n*/\n`;
writeFileSync('../../src/explore/page/editor.min.js', notice + result.outputFiles[0].text);
