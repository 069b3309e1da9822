# Hash grids: points by the cells of a grid that repeats itself in space. Candidates come in the
# order of cells (z, then y, then x), in a cell by their index.


@struct
class HashGridQuery:
    """What is left of a query of a hash grid: made by `hash_grid_query`."""

    id: uint64
    # The first cell in each direction and the current one, as cells of the grid.
    first: Vec[3, int32]
    cell: Vec[3, int32]
    # How many cells there are in each direction, and how many are left after the current ones.
    cells: Vec[3, int32]
    left: Vec[3, int32]
    # What is left of the current cells.
    at: int32
    end: int32
    group: int32
    by_group: bool


@func
@no_grad("an integer")
def _cell_of(x: Float) -> int32:
    """The cell of a coordinate in units of cells; those that no integer tells apart are the outermost."""
    c = floor(float64(x))
    if c >= float64(2147483646.0):
        return 2147483646
    if c < float64(-2147483648.0):
        return -2147483647 - 1
    # NaN comes here, and is 0.
    return int32(c)


@func
@no_grad("an integer")
def _wrapped(x: int32, n: int32) -> int32:
    """The remainder of `x` in 0..n."""
    r = x % n
    return where(r < 0, r + n, r)


@func
@no_grad("an integer")
def _cells_between(first: int32, last: int32, n: int32) -> int32:
    """How many cells a query visits in a direction with `n` cells: each once, one at least."""
    return int32(clamp(int64(last) - int64(first) + int64(1), int64(1), int64(n)))


@func
@no_grad("an index")
def _first_key(keys: Array[uint64, 1], low: int32, high: int32, key: uint64) -> int32:
    """The first index from `low` to before `high` whose key is not below `key`; else `high`."""
    first = low
    end = high
    while first < end:
        middle = first + (end - first) / 2
        if keys[uint32(middle)] < key:
            first = middle + 1
        else:
            end = middle
    return first


@func
@no_grad("integers")
def _enter_cells(query: ref[HashGridQuery]):
    """Sets what is left of the current cells to all of them: those from the current one to the last in its row
    that follow in memory, which hold points that follow. By group, one cell at a time."""
    words = _words(query.id, 88)
    counts = _integers(query.id, 88)
    n = counts[10]
    all = n * counts[11] * counts[12]
    starts = _constant_array_at(words[3], uint64(0), all, int32(0))
    ends = _constant_array_at(words[4], uint64(0), all, int32(0))
    cell = (query.cell[2] * counts[11] + query.cell[1]) * n + query.cell[0]
    if query.by_group and (counts[16] & 255) != 0:
        keys = _constant_array_at(words[2], uint64(0), counts[13], uint64(0))
        key = (uint64(cell) << uint64(32)) | uint64(uint32(query.group))
        first = _first_key(keys, starts[uint32(cell)], ends[uint32(cell)], key)
        query.end = _first_key(keys, first, ends[uint32(cell)], key + uint64(1))
        query.at = first
    else:
        # Empty cells say 0 and 0.
        more = min(query.left[0], n - 1 - query.cell[0])
        at = int32(0)
        end = int32(0)
        for k in range(more + 1):
            last = ends[uint32(cell + k)]
            if last > 0:
                if end == 0:
                    at = starts[uint32(cell + k)]
                end = last
        query.at = at
        query.end = end
        query.left[0] -= more
        query.cell[0] += more


@func
@no_grad("integers")
def _hash_grid_query(
    id: uint64, point: Vec[3, Float], max_dist: Float, inverse: Float, group: int32, by_group: bool
) -> HashGridQuery:
    """A query that begins; `inverse` is one by the width of a cell."""
    query = HashGridQuery()
    query.id = id
    query.group = group
    query.by_group = by_group
    counts = _integers(id, 88)
    x = _cell_of((point[0] - max_dist) * inverse)
    y = _cell_of((point[1] - max_dist) * inverse)
    z = _cell_of((point[2] - max_dist) * inverse)
    query.first = vec3i(_wrapped(x, counts[10]), _wrapped(y, counts[11]), _wrapped(z, counts[12]))
    query.cells = vec3i(
        _cells_between(x, _cell_of((point[0] + max_dist) * inverse), counts[10]),
        _cells_between(y, _cell_of((point[1] + max_dist) * inverse), counts[11]),
        _cells_between(z, _cell_of((point[2] + max_dist) * inverse), counts[12]),
    )
    query.cell = query.first
    # A grid that is not built yet has no cell.
    if _words(id, 88)[0] != uint64(0):
        query.left = vec3i(query.cells[0] - 1, query.cells[1] - 1, query.cells[2] - 1)
        _enter_cells(query)
    return query


@func
@no_grad("a number of the grid's")
def _inverse_width(id: uint64, like: float32) -> float32:
    """One by the width of a cell, of a grid of float32."""
    return _constant_array_at(id, uint64(0), 22, float32(0.0))[21]


@func
@no_grad("a number of the grid's")
def _inverse_width(id: uint64, like: float64) -> float64:
    """The same of a grid of float64."""
    return _constant_array_at(id, uint64(0), 12, float64(0.0))[11]


@func
@no_grad("a number of the grid's")
def _inverse_width(id: uint64, like: float16) -> float16:
    """The same of a grid of float16."""
    return _constant_array_at(id, uint64(0), 44, float16(0.0))[41]


@func
@zero_grad("which points are near changes in steps")
def hash_grid_query(id: uint64, point: Vec[3, Float], max_dist: Float) -> HashGridQuery:
    """A query for the points of the hash grid `id` in the cells within `max_dist` of `point`.

    They are candidates: some are further than `max_dist`. Go through them by `hash_grid_query_next`,
    or by `for i in query:`.

    ```python
    n = int(0)
    for i in wp.hash_grid_query(grid, wp.vec3(2.5, 0.5, 0.5), 1.0):
        n += 1
    wp.expect_eq(n, 3)
    ```
    """
    return _hash_grid_query(id, point, max_dist, _inverse_width(id, max_dist), 0, False)


@func
@zero_grad("which points are near changes in steps")
def hash_grid_query(id: uint64, point: Vec[3, Float], max_dist: Float, group: int32) -> HashGridQuery:
    """The same for the points of one group, if the grid was built with groups; else for all."""
    return _hash_grid_query(id, point, max_dist, _inverse_width(id, max_dist), group, True)


@func
@no_grad("integers")
def _hash_grid_advance(query: ref[HashGridQuery]) -> bool:
    """Goes on to cells that hold points, where none is left of the current ones; False: there are no such."""
    while query.at >= query.end:
        if query.left[0] > 0:
            query.left[0] -= 1
            query.cell[0] = _next_cell(query.cell[0], _integers(query.id, 88)[10])
        else:
            query.left[0] = query.cells[0] - 1
            query.cell[0] = query.first[0]
            if query.left[1] > 0:
                query.left[1] -= 1
                query.cell[1] = _next_cell(query.cell[1], _integers(query.id, 88)[11])
            else:
                query.left[1] = query.cells[1] - 1
                query.cell[1] = query.first[1]
                if query.left[2] <= 0:
                    query.left = vec3i(0, 0, 0)
                    return False
                query.left[2] -= 1
                query.cell[2] = _next_cell(query.cell[2], _integers(query.id, 88)[12])
        _enter_cells(query)
    return True


@func
@no_grad("an index")
def _hash_grid_item(query: HashGridQuery, place: int32) -> int32:
    """The point at a place in the order of the cells."""
    ids = _constant_array_at(_words(query.id, 88)[1], uint64(0), _integers(query.id, 88)[13], int32(0))
    # No index is negative, which this shows.
    return ids[uint32(place)] & 0x7FFFFFFF


# A loop through a query goes from run to run: cells whose points follow each other in the order of
# the cells. Inside of a run it counts.


@func
@no_grad("integers")
def _hash_grid_next_run(query: ref[HashGridQuery], first: ref[int32]) -> bool:
    """Sets `first` to where the next run begins; False: there is none."""
    if not _hash_grid_advance(query):
        return False
    first = query.at
    query.at = query.end
    return True


@func
@no_grad("an integer")
def _hash_grid_run_end(query: HashGridQuery) -> int32:
    """Where the current run ends."""
    return query.end


@func
@zero_grad("which points are near changes in steps")
def hash_grid_query_next(query: ref[HashGridQuery], index: ref[int32]) -> bool:
    """Sets `index` to the next point that a query finds; False: there is none.

    ```python
    query = wp.hash_grid_query(grid, wp.vec3(2.5, 0.5, 0.5), 0.25)
    i = int(0)
    wp.expect_eq(wp.hash_grid_query_next(query, i), True)
    wp.expect_eq(i, 2)
    wp.expect_eq(wp.hash_grid_query_next(query, i), False)
    ```
    """
    if not _hash_grid_advance(query):
        return False
    index = _hash_grid_item(query, query.at)
    query.at += 1
    return True


@func
@no_grad("an integer")
def _next_cell(cell: int32, n: int32) -> int32:
    """The cell after `cell` of `n` that repeat."""
    return where(cell + 1 == n, 0, cell + 1)


@func
@no_grad("an index")
def hash_grid_point_id(id: uint64, index: int32) -> int32:
    """The point that is at place `index` in the order of the cells; -1 in a grid that is not built.

    ```python
    wp.expect_eq(wp.hash_grid_point_id(grid, 3), 3)
    ```
    """
    words = _words(id, 88)
    if words[1] == uint64(0):
        return -1
    return _constant_array_at(words[1], uint64(0), _integers(id, 88)[13], int32(0))[uint32(index)]
