// What a launch of the kernel took on the simulated GPU, and what it was launched with.

const count = value => value === 0 ? '' : Number.isInteger(value) ? String(value) : value.toFixed(1);

class Counters {
    // `tell` hears of lines; `changed` that the launch is to be another one.
    constructor(tell, changed) {
        this.tell = tell;
        this.threads = element('input', { id: 'threads', size: 8, spellcheck: 'false', placeholder: '', onchange: changed });
        this.block = element('input', { id: 'launch-block', size: 8, inputmode: 'numeric', placeholder: '', onchange: changed });
        this.gradient = element('input', { type: 'checkbox', id: 'gradient', onchange: changed });
        this.arguments = new Map();
        this.form = element('form', { 'aria-label': 'Launch', onsubmit: event => { event.preventDefault(); changed(); } });
        this.why = element('p', { class: 'why', role: 'status', hidden: true });
        this.result = element('div', { id: 'counted' });
        this.section = element('section', { class: 'pane', id: 'counters', 'aria-label': 'Counters' },
            element('h2', {}, 'Counters'), element('div', { class: 'body', tabindex: 0 }, this.why, this.form, this.result));
    }

    // What the form says, for the server.
    wish() {
        const given = [...this.arguments].map(([name, input]) => [name, input.value.trim()]).filter(([, value]) => value);
        return {
            dim: this.threads.value.trim(), block_dim: Number.parseInt(this.block.value, 10) || null, gradient: this.gradient.checked,
            args: given.map(([name, value]) => `${name}=${value}`),
        };
    }

    fill(launch) {
        const names = launch.arguments.map(one => `${one.name}: ${one.type}`).join('\n');
        this.threads.placeholder = launch.dim;
        this.block.placeholder = String(launch.block_dim);
        if (names !== this.names) {
            this.names = names;
            const old = this.arguments;
            this.arguments = new Map();
            const rows = [];
            const row = (label, input) => rows.push(element('label', { for: input.id }, label), input);
            row('Threads', this.threads);
            row('Threads of a block', this.block);
            for (const { name, type, given } of launch.arguments) {
                const input = element('input', { id: `arg-${name}`, spellcheck: 'false', onchange: () => this.form.requestSubmit() });
                input.value = old.get(name)?.value ?? given ?? '';
                this.arguments.set(name, input);
                row(element('span', {}, name, ' ', element('span', { class: 'kind' }, type)), input);
            }
            row('Gradient too', this.gradient);
            this.form.replaceChildren(...rows, element('button', { hidden: true }));
        }
        for (const { name, made } of launch.arguments) this.arguments.get(name).placeholder = made;
    }

    show({ launch, why, asks, entries }, live) {
        if (launch) this.fill(launch);
        for (const input of this.form.querySelectorAll('input')) input.disabled = !live;
        this.section.classList.toggle('asks', Boolean(asks));
        this.why.hidden = !why;
        this.why.textContent = why ?? '';
        this.section.classList.toggle('stale', Boolean(why) && entries.length === 0);
        if (why && entries.length === 0 && !asks) return;
        this.result.replaceChildren(...entries.flatMap(entry => this.entry(entry)));
    }

    line(number, words) {
        const tell = why => () => this.tell([number], this, why);
        return element('button', {
            type: 'button', class: 'linkish', onclick: tell('go'), onmouseenter: tell('point'), onfocus: tell('point'),
            onmouseleave: () => this.tell([], this, 'leave'),
        }, words ?? `line ${number}`);
    }

    entry(entry) {
        const dims = extents => extents.join(' \u00d7 ');
        const advice = entry.advice.map(({ line, message, share }) =>
            element('li', {}, this.line(line), `: ${message} (${Math.round(100 * share)} %)`));
        const row = ({ name, value, kind }) => element('tr', {}, element('td', { class: 'left' }, name),
            element('td', {}, String(Math.round(value * 1000) / 1000)), element('td', { class: 'left kind' }, kind));
        const metrics = list => element('table', {}, element('tr', {}, element('th', { class: 'left' }, 'metric'),
            element('th', {}, 'value'), element('th', { class: 'left' }, 'trust')), ...list.map(row));
        const lines = entry.lines.map(one => element('tr', { 'data-line': one.line },
            element('td', {}, this.line(one.line, String(one.line))), element('td', {}, count(one.sectors)),
            element('td', {}, count(one.excessive)), element('td', {}, count(one.executed)), element('td', {}, one.lanes.toFixed(1))));
        const heads = ['line', 'sectors', 'excessive', 'warp instructions', 'lanes'].map(head => element('th', {}, head));
        return [
            element('h3', {}, `${entry.entry}, grid ${dims(entry.grid)}, block ${dims(entry.block)}`),
            element('p', {}, entry.occupancy), ...entry.roofline ? [element('p', {}, entry.roofline)] : [],
            element('h3', {}, 'Advice'), advice.length ? element('ol', {}, ...advice) : element('p', {}, 'No line stands out.'),
            element('h3', {}, 'Lines'), element('table', { class: 'lines' }, element('tr', {}, ...heads), ...lines),
            element('h3', {}, 'Metrics'), metrics(entry.metrics.filter(one => one.usual)),
            element('details', {}, element('summary', {}, 'All metrics'), metrics(entry.metrics)),
        ];
    }

    light(lines) {
        for (const row of this.result.querySelectorAll('tr.lit')) row.classList.remove('lit');
        for (const line of lines) {
            for (const row of this.result.querySelectorAll(`tr[data-line="${line}"]`)) row.classList.add('lit');
        }
    }
}
