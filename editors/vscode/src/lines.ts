// Which lines of a view and of its source belong together? Plain arithmetic, without the editor.

/** The answer to `kc/lines`: where the lines of a view come from. Everything counts from 0. */
export interface Lines {
    /** The address of the source, and its version when the view was made. */
    readonly source: string;
    readonly version: number;
    /** For each line of the view, lines of the source. */
    readonly lines: readonly (readonly number[])[];
}

/** The lines of the view that come from the lines `first` to `last` of the source. */
export function generated(map: Lines, first: number, last: number): number[] {
    const found: number[] = [];
    map.lines.forEach((from, line) => {
        if (from.some(source => first <= source && source <= last)) {
            found.push(line);
        }
    });
    return found;
}

/** The lines of the source that the lines `first` to `last` of the view come from, in order. */
export function origins(map: Lines, first: number, last: number): number[] {
    const found = new Set(map.lines.slice(first, last + 1).flat());
    return [...found].sort((a, b) => a - b);
}

/** Neighbouring lines as pairs of their first and last. */
export function runs(lines: readonly number[]): [number, number][] {
    const found: [number, number][] = [];
    for (const line of lines) {
        const last = found.at(-1);
        if (last && last[1] + 1 === line) {
            last[1] = line;
        } else {
            found.push([line, line]);
        }
    }
    return found;
}
