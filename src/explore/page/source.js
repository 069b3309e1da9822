// The source: an editor, or its text where nothing can be edited.

const heatClass = heat => `heat${Math.min(5, Math.max(1, Math.ceil(heat * 5)))}`;

// A source that only shows, with the faces of an editor.
class SourceText {
    constructor(place, text, tell) {
        this.pane = new TextPane('text', 'Source', (lines, pane, why) => tell(lines, this, why));
        this.section = place.closest('section');
        place.replaceChildren(this.pane.code);
        this.shown = text;
        this.pane.show({ text, lines: text.split('\n').map((_, n) => [n + 1]), why: null, language: 'python' });
    }

    text() {
        return this.shown;
    }

    light(lines, scroll) {
        this.pane.light(lines, scroll);
    }

    go(line) {
        this.pane.code.focus();
        this.pane.choose(line - 1);
    }

    heat(lines) {
        for (const row of this.pane.lines) row.className = row.className.replace(/heat\d/, '');
        for (const { line, heat } of lines) this.pane.lines[line - 1]?.classList.add(heatClass(heat));
    }

    findings(list) {
        for (const { line, level } of list) this.pane.lines[line - 1]?.classList.add(`mark-${level}`);
    }
}

class SourceEditor {
    constructor(place, text, tell, changed) {
        const { EditorState, EditorView, StateField, StateEffect, Decoration } = CodeMirror;
        this.section = place.closest('section');
        this.marks = StateEffect.define();
        this.now = { lit: [], heat: [] };
        const marks = this.marks;
        const field = StateField.define({
            create: () => Decoration.none,
            update(value, change) {
                value = value.map(change.changes);
                for (const effect of change.effects) if (effect.is(marks)) value = effect.value;
                return value;
            },
            provide: of => EditorView.decorations.from(of),
        });
        const lineAt = (event, view) => {
            const at = view.posAtCoords({ x: event.clientX, y: event.clientY });
            return at === null ? null : view.state.doc.lineAt(at).number;
        };
        const style = CodeMirror.HighlightStyle.define([
            { tag: CodeMirror.tags.keyword, class: 'word' }, { tag: CodeMirror.tags.string, class: 'text' },
            { tag: CodeMirror.tags.comment, class: 'comment' }, { tag: CodeMirror.tags.number, class: 'number' },
            { tag: CodeMirror.tags.definition(CodeMirror.tags.function(CodeMirror.tags.variableName)), class: 'name' },
        ]);
        const extensions = [
            EditorView.cspNonce.of(document.querySelector('script[nonce]')?.nonce ?? ''),
            CodeMirror.lineNumbers(), CodeMirror.highlightSpecialChars(), CodeMirror.history(), CodeMirror.drawSelection(),
            CodeMirror.indentOnInput(), CodeMirror.bracketMatching(), CodeMirror.python(), CodeMirror.lintGutter(),
            CodeMirror.indentUnit.of('    '), CodeMirror.syntaxHighlighting(style), field,
            CodeMirror.keymap.of([...CodeMirror.defaultKeymap, ...CodeMirror.historyKeymap, ...CodeMirror.lintKeymap]),
            EditorView.contentAttributes.of({ 'aria-label': 'Source of the kernels' }),
            EditorView.domEventHandlers({
                mousemove: (event, view) => {
                    const line = lineAt(event, view);
                    if (line !== this.pointed) tell(line ? [line] : [], this, 'point');
                    this.pointed = line;
                },
                mouseleave: () => { this.pointed = null; tell([], this, 'leave'); },
            }),
            EditorView.updateListener.of(update => {
                if (update.docChanged) changed();
                if (update.selectionSet && !update.docChanged) tell([this.line()], this, 'choose');
            }),
            EditorView.theme({
                '&': { color: 'var(--ink)', backgroundColor: 'var(--ground)' },
                '.cm-gutters': { backgroundColor: 'var(--bar)', color: 'var(--faint)', border: '0' },
                '.cm-content': { caretColor: 'var(--ink)' },
                '.cm-cursor': { borderLeftColor: 'var(--ink)' },
                '.cm-tooltip': { backgroundColor: 'var(--ground)', color: 'var(--ink)', border: '1px solid var(--line)' },
                '.cm-tooltip .cm-diagnosticAction': { backgroundColor: 'var(--accent)', color: 'var(--ground)' },
            }),
        ];
        this.view = new EditorView({ state: EditorState.create({ doc: text, extensions }), parent: place });
    }

    text() {
        return this.view.state.doc.toString();
    }

    line() {
        return this.view.state.doc.lineAt(this.view.state.selection.main.head).number;
    }

    replace(text) {
        const doc = this.view.state.doc;
        this.view.dispatch({ changes: { from: 0, to: doc.length, insert: text } });
    }

    edit(edits) {
        this.view.dispatch({ changes: edits.map(({ from, to, text }) => ({ from, to, insert: text })) });
        this.view.focus();
    }

    draw() {
        const doc = this.view.state.doc, classes = new Map();
        const add = (line, name) => {
            if (line >= 1 && line <= doc.lines) classes.set(line, `${classes.get(line) ?? ''} ${name}`);
        };
        for (const { line, heat } of this.now.heat) add(line, heatClass(heat));
        for (const line of this.now.lit) add(line, 'lit');
        const ranges = [...classes].sort(([a], [b]) => a - b)
            .map(([line, name]) => CodeMirror.Decoration.line({ class: name.trim() }).range(doc.line(line).from));
        this.view.dispatch({ effects: this.marks.of(CodeMirror.Decoration.set(ranges)) });
    }

    light(lines, scroll) {
        this.now.lit = lines;
        this.draw();
        if (scroll && lines.length) {
            const line = this.view.state.doc.line(Math.min(lines[0], this.view.state.doc.lines));
            this.view.dispatch({ effects: CodeMirror.EditorView.scrollIntoView(line.from, { y: 'nearest' }) });
        }
    }

    go(line) {
        const at = this.view.state.doc.line(Math.min(Math.max(line, 1), this.view.state.doc.lines)).from;
        this.view.dispatch({ selection: { anchor: at }, scrollIntoView: true });
        this.view.focus();
    }

    heat(lines) {
        this.now.heat = lines;
        this.draw();
    }

    // The findings of this very text.
    findings(list) {
        const end = this.view.state.doc.length;
        const found = list.map(one => ({
            from: Math.min(one.from, end), to: Math.min(Math.max(one.to, one.from), end),
            severity: one.level === 'note' ? 'info' : one.level, source: `kc ${one.code}`, message: one.message,
            actions: one.fixes.map(fix => ({ name: fix.title, apply: () => this.edit(fix.edits) })),
        }));
        this.view.dispatch(CodeMirror.setDiagnostics(this.view.state, found));
    }
}
