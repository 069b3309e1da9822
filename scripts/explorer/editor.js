// The parts of CodeMirror that the page of `kc explore` uses, under one name.
export { EditorState, StateEffect, StateField, Compartment, RangeSetBuilder } from '@codemirror/state';
export {
    EditorView, Decoration, GutterMarker, gutter, keymap, lineNumbers, highlightActiveLine, highlightSpecialChars, drawSelection,
} from '@codemirror/view';
export { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands';
export { HighlightStyle, syntaxHighlighting, indentOnInput, bracketMatching, indentUnit } from '@codemirror/language';
export { python } from '@codemirror/lang-python';
export { setDiagnostics, lintGutter, lintKeymap, forEachDiagnostic } from '@codemirror/lint';
export { tags } from '@lezer/highlight';
