// Panes of text: each knows which lines of the source its own lines come from.

const element = (name, attributes = {}, ...children) => {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
        if (key.startsWith('on')) made.addEventListener(key.slice(2), value);
        else if (value === true) made.setAttribute(key, '');
        else if (value !== false && value !== null && value !== undefined) made.setAttribute(key, value);
    }
    made.append(...children);
    return made;
};

const WORDS = {
    cuda: /^(?:if|else|for|while|do|return|break|continue|const|struct|void|bool|char|int|unsigned|float|double|long|short|static|auto|true|false|extern|inline|__\w+__|\w+_t)$/,
    python: /^(?:def|class|if|elif|else|for|while|return|break|continue|in|not|and|or|is|import|from|as|pass|True|False|None|global|lambda|with|assert)$/,
};

const COMMENTS = { python: '#', ir: '#', asm: '#' };

// The pieces of a line of code, each with the class of its colour.
function* pieces(text, language) {
    const comment = COMMENTS[language] ?? '//';
    const words = WORDS[language];
    const pattern = /("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|([%.$@]?[A-Za-z_][\w.]*)|(\d[\w.]*)/g;
    const end = text.indexOf(comment) < 0 ? text.length : text.indexOf(comment);
    let at = 0;
    for (let match; (match = pattern.exec(text)) && match.index < end;) {
        if (match.index > at) yield [text.slice(at, match.index), ''];
        const [whole, string, word] = match;
        const isWord = words ? words.test(whole) : /^\.[a-z]/.test(whole);
        yield [whole, string ? 'text' : !word ? 'number' : isWord ? 'word' : /^[%$@]/.test(whole) ? 'name' : ''];
        at = match.index + whole.length;
    }
    if (at < end) yield [text.slice(at, end), ''];
    if (end < text.length) yield [text.slice(Math.max(at, end)), 'comment'];
}

const coloured = (text, language) => {
    const line = document.createDocumentFragment();
    for (const [part, kind] of pieces(text, language)) line.append(kind ? element('span', { class: kind }, part) : part);
    return line;
};

// A pane with lines of text. `tell` hears which lines of the source are meant, and why.
class TextPane {
    constructor(id, title, tell) {
        this.id = id;
        this.tell = tell;
        this.title = title;
        this.why = element('p', { class: 'why', hidden: true });
        this.code = element('div', {
            class: 'code', tabindex: 0, role: 'listbox', 'aria-label': `${title}: lines`,
            onmouseover: event => this.point(event), onmouseleave: () => tell([], this, 'leave'),
            onclick: event => this.choose(this.lineOf(event)), onkeydown: event => this.key(event),
        });
        this.section = element('section', { class: 'pane', id: `pane-${id}`, 'aria-label': title },
            element('h2', {}, title), element('div', { class: 'body' }, this.why, this.code));
        this.lines = [];
        this.lit = [];
        this.at = -1;
    }

    // `pane`: text, the lines that each of its lines comes from, and why there is none.
    show({ text, lines, why, language }) {
        this.why.hidden = !why;
        this.why.textContent = why ?? '';
        this.section.classList.toggle('stale', Boolean(why) && this.lines.length > 0);
        // What was there stays in sight while something is wrong.
        if (why && !text) return;
        if (text === this.text && JSON.stringify(lines) === JSON.stringify(this.from)) return;
        const rows = text.replace(/\n$/, '').split('\n');
        this.text = text;
        this.from = lines;
        this.bySource = new Map();
        this.lines = rows.map((row, n) => {
            const from = lines[n] ?? [];
            const line = element('div', {
                'data-n': n + 1, role: 'option', id: `${this.id}-${n + 1}`, class: from.length ? 'linked' : null,
                title: from.length ? `from line ${from.join(', ')}` : null,
            }, coloured(row, language));
            for (const number of from) {
                if (!this.bySource.has(number)) this.bySource.set(number, []);
                this.bySource.get(number).push(line);
            }
            return line;
        });
        this.lit = [];
        this.at = Math.min(this.at, this.lines.length - 1);
        this.code.replaceChildren(...this.lines);
        this.begin();
    }

    // Brings the first line that comes from the source into sight, once.
    begin() {
        const first = this.lines.find(line => line.classList.contains('linked'));
        if (this.begun || !first || this.section.hidden) return;
        this.begun = true;
        const body = this.code.parentElement;
        body.scrollTop = Math.max(0, first.getBoundingClientRect().top - body.getBoundingClientRect().top - 60);
    }

    lineOf(event) {
        const line = event.target.closest?.('[data-n]');
        return line ? Number(line.dataset.n) - 1 : -1;
    }

    sources(n) {
        return this.from?.[n] ?? [];
    }

    point(event) {
        const n = this.lineOf(event);
        if (n !== this.pointed) this.tell(this.sources(n), this, 'point');
        this.pointed = n;
    }

    choose(n) {
        if (n < 0 || n >= this.lines.length) return;
        this.lines[this.at]?.classList.remove('current');
        this.at = n;
        this.lines[n].classList.add('current');
        this.code.setAttribute('aria-activedescendant', this.lines[n].id);
        this.lines[n].scrollIntoView({ block: 'nearest' });
        this.tell(this.sources(n), this, 'choose');
    }

    key(event) {
        const page = 20, last = this.lines.length - 1;
        const to = { ArrowDown: this.at + 1, ArrowUp: this.at - 1, PageDown: this.at + page, PageUp: this.at - page, Home: 0, End: last };
        if (event.key in to) this.choose(Math.max(0, Math.min(last, to[event.key])));
        else if (event.key === 'Enter') this.tell(this.sources(this.at), this, 'go');
        else return;
        event.preventDefault();
    }

    // Lights what comes from these lines of the source; `scroll`: brings the first of it into sight.
    light(sources, scroll) {
        for (const line of this.lit) line.classList.remove('lit');
        this.lit = sources.flatMap(number => this.bySource?.get(number) ?? []);
        for (const line of this.lit) line.classList.add('lit');
        if (scroll && this.lit.length && !this.section.hidden) {
            const [line, body] = [this.lit[0].getBoundingClientRect(), this.code.parentElement];
            const seen = body.getBoundingClientRect();
            if (line.top < seen.top || line.bottom > seen.bottom) body.scrollTop += line.top - seen.top - seen.height / 3;
        }
    }
}
