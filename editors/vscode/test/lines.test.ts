import assert from 'node:assert/strict';
import test from 'node:test';
import { generated, origins, runs } from '../src/lines';

const map = { source: 'file:///k.py', version: 1, lines: [[], [4], [5, 6], [5], [], [4]] };

test('from the source to the view', () => {
    assert.deepEqual(generated(map, 4, 4), [1, 5]);
    assert.deepEqual(generated(map, 5, 6), [2, 3]);
    assert.deepEqual(generated(map, 9, 9), []);
});

test('from the view to the source', () => {
    assert.deepEqual(origins(map, 0, 0), []);
    assert.deepEqual(origins(map, 1, 3), [4, 5, 6]);
    assert.deepEqual(origins(map, 5, 99), [4]);
});

test('neighbours', () => {
    assert.deepEqual(runs([]), []);
    assert.deepEqual(runs([1, 2, 3, 7, 9, 10]), [[1, 3], [7, 7], [9, 10]]);
});
