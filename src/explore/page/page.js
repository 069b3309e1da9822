// The page: what is asked of kc, and where the answers go.

const boot = JSON.parse(document.getElementById('boot').textContent);
const by = id => document.getElementById(id);
const status = text => { by('status').textContent = text; };

const PANES = [['cuda', 'CUDA'], ['ptx', 'PTX'], ['ir', 'IR'], ['gradient', 'Gradient'], ['machine', 'Machine code'],
    ['assembly', 'Host assembly'], ['plan', 'Plan']];
const SHOWN_AT_FIRST = ['cuda', 'ptx', 'counters'];

// Lines of the source that are meant: by the pointer for a moment, or by a choice that stays.
let chosen = [];
const tell = (lines, from, why) => {
    if (why === 'choose' || why === 'go') chosen = lines;
    const meant = why === 'leave' ? chosen : lines;
    for (const part of parts) part.light(meant, part !== from && why !== 'point' && why !== 'leave');
    if (why === 'go' && lines.length) source.go(lines[0]);
};

const panes = PANES.map(([id, title]) => new TextPane(id, title, tell));
const counters = new Counters(tell, () => refresh());
const source = boot.live
    ? new SourceEditor(document.querySelector('#source .body'), boot.source, tell, () => edited())
    : new SourceText(document.querySelector('#source .body'), boot.source, tell);
const parts = [source, ...panes, counters];

// What the page is at, for who measures it: the last edit, and when each part had its answer.
const times = { edit: performance.now(), sequence: 0 };
window.kc = times;

for (const pane of [...panes, counters]) {
    const id = pane.id ?? 'counters', title = pane.title ?? 'Counters';
    const button = element('button', { type: 'button', 'aria-pressed': 'false', 'aria-controls': pane.section.id }, title);
    const set = shown => {
        pane.section.hidden = !shown;
        button.setAttribute('aria-pressed', String(shown));
        pane.begin?.();
    };
    button.addEventListener('click', () => {
        set(pane.section.hidden);
        if (id === 'machine' && boot.live) assemble(times.sequence).catch(error => status(error.message));
    });
    set(SHOWN_AT_FIRST.includes(id));
    by('shown').append(button);
    by('panes').append(pane.section);
}

const options = (select, names, chosen) => {
    select.replaceChildren(...names.map(name => element('option', {}, name)));
    if (names.includes(chosen)) select.value = chosen;
};
by('file').textContent = boot.file;
options(by('arch'), boot.archs, boot.wish.arch);
options(by('tensor_cores'), boot.tensor_cores, boot.wish.tensor_cores);
options(by('kernel'), boot.kernels, boot.wish.kernel);
by('fmad').checked = boot.wish.fmad;
by('opt').value = boot.wish.opt;
by('block_dim').value = boot.wish.block_dim ?? '';
counters.threads.value = boot.wish.launch.dim;
counters.gradient.checked = boot.wish.launch.gradient;

const wish = part => ({
    source: source.text(), part, kernel: by('kernel').value || boot.wish.kernel || null, arch: by('arch').value, opt: by('opt').value,
    fmad: by('fmad').checked, tensor_cores: by('tensor_cores').value, block_dim: Number.parseInt(by('block_dim').value, 10) || null,
    launch: firstLaunch ? boot.wish.launch : counters.wish(),
});
// Until the form has inputs for the arguments, those of the command line count.
let firstLaunch = boot.live;

async function ask(path, body) {
    const answer = await fetch(path, {
        method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body), cache: 'no-store',
    });
    if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`);
    return answer;
}

// Findings by who made them: the text, and the run.
const found = { text: [], run: [] };

function showFindings() {
    const seen = new Set(), key = one => `${one.code} ${one.from} ${one.message}`;
    const list = [...found.text, ...found.run].filter(one => !seen.has(key(one)) && seen.add(key(one)));
    source.findings(list);
    by('findings').replaceChildren(...list.map(one => element('li', { class: one.level, 'data-code': one.code },
        element('b', {}, `${one.level} ${one.code}`), ' ',
        one.line ? counters.line(one.line) : '', one.line ? ': ' : '', one.message,
        ...one.more ? [element('p', { class: 'more' }, one.more)] : [],
        element('div', { class: 'fixes' }, ...boot.live ? one.fixes.map(fix => element('button', {
            type: 'button', onclick: () => source.text() === found.source && source.edit(fix.edits),
        }, fix.title)) : []))));
    const errors = list.filter(one => one.level === 'error').length;
    by('found').querySelector('h2').textContent = `Findings (${list.length})`;
    return errors === 0 ? `${list.length ? `${list.length} findings` : 'no findings'}` : `${errors} error${errors > 1 ? 's' : ''}`;
}

function showText(view) {
    found.text = view.findings;
    const own = by('kernel').value;
    options(by('kernel'), view.kernels, view.kernels.includes(own) ? own : view.kernel);
    for (const pane of panes) if (view.panes[pane.id]) pane.show(view.panes[pane.id]);
    // What is lit stays lit in new texts.
    if (chosen.length) for (const pane of panes) pane.light(chosen, false);
    return showFindings();
}

function showCounters(counted) {
    found.run = counted.findings;
    counters.show(counted, boot.live);
    source.heat(counted.entries[0]?.heat ?? []);
    return showFindings();
}

// One text at a time is under way; what is typed meanwhile is asked for afterwards, once.
let busy = false, again = false;

async function refresh() {
    again = busy;
    if (busy) return;
    busy = true;
    try {
        do {
            again = false;
            const asked = wish('text'), sequence = times.sequence;
            const view = await (await ask('view', asked)).json();
            if (view.fault) { status(view.fault); continue; }
            found.source = asked.source;
            if (source.text() !== asked.source) { again = true; continue; }
            status(showText(view));
            times.text = performance.now();
            times.text_of = sequence;
            measure(sequence);
        } while (again);
    } catch (error) {
        status(`kc does not answer: ${error.message}`);
    } finally {
        busy = false;
    }
}

// What takes a run or another program. A launch that is counted for long gives way to the next.
const PATIENCE = 700;
let measuring = 0, wanted = null;

async function measure(sequence) {
    if (measuring) {
        const patience = measuring + PATIENCE - performance.now();
        wanted = sequence;
        if (patience > 0) return void setTimeout(() => wanted === sequence && measuring && countNow(sequence), patience);
    }
    await countNow(sequence);
}

async function countNow(sequence) {
    wanted = null;
    const begin = measuring = performance.now();
    try {
        const asked = wish('counters');
        const counted = await (await ask('view', asked)).json();
        if (counted.superseded || measuring !== begin) return;
        firstLaunch = false;
        if (source.text() === asked.source) {
            status(counted.fault ?? showCounters(counted));
            times.counters = performance.now();
            times.counters_of = sequence;
        }
        assemble(sequence).catch(error => status(`kc does not answer: ${error.message}`));
    } catch (error) {
        status(`kc does not answer: ${error.message}`);
    } finally {
        if (measuring === begin) measuring = 0;
        if (wanted !== null && !measuring) measure(wanted);
    }
}

// Another program takes its time: it is asked while somebody looks.
const machine = panes.find(pane => pane.id === 'machine');
const showMachine = made => machine.show(made.fault ? { text: '', lines: [], why: made.fault } : made);

async function assemble(sequence) {
    if (!machine.section.hidden) {
        const made = await (await ask('view', wish('machine'))).json();
        if (made.superseded || sequence !== times.sequence) return;
        showMachine(made);
        times.machine = performance.now();
    }
    times.machine_of = sequence;
}

function edited() {
    times.edit = performance.now();
    times.sequence += 1;
    by('save').disabled = source.text() === disk.text;
    refresh();
}

// The file on the disk.
const disk = { text: boot.source, stamp: boot.stamp };

async function save() {
    try {
        const text = source.text();
        const answer = await (await ask('save', { text, stamp: disk.stamp })).json();
        if (answer.refused) return notice(answer.refused, [['Write it all the same', () => { disk.stamp = answer.stamp; save(); }]]);
        Object.assign(disk, { text, stamp: answer.stamp });
        notice('');
        by('save').disabled = source.text() === text;
        status('saved');
    } catch (error) {
        status(`not saved: ${error.message}`);
    }
}

function notice(words, choices = []) {
    by('notice').hidden = !words;
    by('notice').replaceChildren(words, ...choices.map(([title, choose]) =>
        element('button', { type: 'button', onclick: () => { notice(''); choose(); } }, title)));
}

async function watch() {
    for (let failed = 0; failed < 5;) {
        try {
            const news = await (await fetch(`changes?since=${disk.stamp}`, { cache: 'no-store' })).json();
            failed = 0;
            if (news.stamp === disk.stamp) continue;
            const mine = source.text() !== disk.text, was = disk.text;
            Object.assign(disk, { stamp: news.stamp, text: news.text ?? was });
            if (news.text === null || news.text === source.text()) refresh();
            else if (!mine) source.replace(news.text);
            else notice('The file has changed on the disk. ', [['Take it', () => source.replace(news.text)], ['Keep mine', () => {}]]);
        } catch {
            failed += 1;
            await new Promise(done => setTimeout(done, 500 * failed));
        }
    }
    status('kc explore has ended');
}

async function share() {
    const page = await (await ask('share', wish('text'))).blob();
    const link = element('a', { href: URL.createObjectURL(page), download: `${boot.file.replace(/\.\w+$/, '')}.html` });
    link.click();
    URL.revokeObjectURL(link.href);
    status('the page is in one file: nothing else belongs to it');
}

// Keys that lead from pane to pane, and from finding to finding.
document.addEventListener('keydown', event => {
    if (event.key === 'F6') {
        const stops = ['.cm-content', '#text-code', '.code', '#counters .body'].join(', ');
        const all = [...document.querySelectorAll(stops)].filter(stop => stop.getClientRects().length);
        const at = all.findIndex(stop => stop.contains(document.activeElement));
        all[(at + (event.shiftKey ? all.length - 1 : 1)) % all.length]?.focus();
    } else if (event.key === 'F8' && !event.defaultPrevented) {
        const all = [...document.querySelectorAll('#findings .linkish')];
        const at = all.indexOf(document.activeElement);
        all[(at + 1) % all.length]?.focus();
    } else if (event.key === 's' && (event.ctrlKey || event.metaKey) && boot.live) {
        save();
    } else if (event.key === 'Escape') {
        by('options').open = false;
        return;
    } else return;
    event.preventDefault();
});

const showStatic = () => {
    const view = boot.views[by('kernel').value];
    if (view.fault) return status(view.fault);
    showText(view);
    if (!view.counters.fault) showCounters(view.counters);
    showMachine(view.machine);
    status(`${boot.file}: a copy, made by kc ${boot.version}`);
};

if (boot.live) {
    for (const id of ['kernel', 'arch', 'opt', 'fmad', 'tensor_cores', 'block_dim']) by(id).addEventListener('change', () => refresh());
    by('save').addEventListener('click', save);
    by('share').addEventListener('click', () => share().catch(error => status(error.message)));
    by('save').disabled = true;
    refresh();
    watch();
} else {
    for (const id of ['save', 'share', 'options']) by(id).hidden = true;
    by('arch').disabled = true;
    by('kernel').addEventListener('change', showStatic);
    showStatic();
}
