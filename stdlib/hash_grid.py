# Hash grids: points by the cells of a grid that repeats itself in space. Candidates come in the
# order of cells (z, then y, then x), in a cell by their index.


@struct
class HashGridQuery:
    """What is left of a query of a hash grid: made by `hash_grid_query`."""

    id: uint64
    # The first and the last cell in each direction, and the current one.
    first: Vec[3, int32]
    last: Vec[3, int32]
    cell: Vec[3, int32]
    # What is left of the cell.
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
def _last_cell(first: int32, last: int32, n: int32) -> int32:
    """The last cell of a direction with `n` cells, so that none comes twice; the first at least."""
    return where(int64(last) - int64(first) >= int64(n), first + (n - 1), max(first, last))


@func
@no_grad("an index")
def _first_key(keys: Array[uint64, 1], low: int32, high: int32, key: uint64) -> int32:
    """The first index from `low` to before `high` whose key is not below `key`; else `high`."""
    first = low
    end = high
    while first < end:
        middle = first + (end - first) / 2
        if keys[middle] < key:
            first = middle + 1
        else:
            end = middle
    return first


@func
@no_grad("integers")
def _enter_cell(query: ref[HashGridQuery]):
    """Sets what is left of the current cell to all of it."""
    words = _words(query.id, 88)
    counts = _integers(query.id, 88)
    n = vec3i(counts[10], counts[11], counts[12])
    cells = n[0] * n[1] * n[2]
    starts = _constant_array_at(words[3], uint64(0), cells, int32(0))
    ends = _constant_array_at(words[4], uint64(0), cells, int32(0))
    cell = (_wrapped(query.cell[2], n[2]) * n[1] + _wrapped(query.cell[1], n[1])) * n[0] + _wrapped(query.cell[0], n[0])
    query.at = starts[cell]
    query.end = ends[cell]
    if query.by_group and (counts[16] & 255) != 0:
        keys = _constant_array_at(words[2], uint64(0), counts[13], uint64(0))
        key = (uint64(cell) << uint64(32)) | uint64(uint32(query.group))
        first = _first_key(keys, query.at, query.end, key)
        query.end = _first_key(keys, first, query.end, key + uint64(1))
        query.at = first


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
    query.first = vec3i(x, y, z)
    query.last = vec3i(
        _last_cell(x, _cell_of((point[0] + max_dist) * inverse), counts[10]),
        _last_cell(y, _cell_of((point[1] + max_dist) * inverse), counts[11]),
        _last_cell(z, _cell_of((point[2] + max_dist) * inverse), counts[12]),
    )
    query.cell = query.first
    if _words(id, 88)[0] == uint64(0):
        # Not built yet: no cell.
        query.last = vec3i(x, y, z - 1)
    else:
        _enter_cell(query)
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
    ids = _constant_array_at(_words(query.id, 88)[1], uint64(0), _integers(query.id, 88)[13], int32(0))
    while query.cell[2] <= query.last[2]:
        if query.at < query.end:
            index = ids[query.at]
            query.at += 1
            return True
        query.cell[0] += 1
        if query.cell[0] > query.last[0]:
            query.cell[0] = query.first[0]
            query.cell[1] += 1
        if query.cell[1] > query.last[1]:
            query.cell[1] = query.first[1]
            query.cell[2] += 1
        if query.cell[2] <= query.last[2]:
            _enter_cell(query)
    return False


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
    return _constant_array_at(words[1], uint64(0), _integers(id, 88)[13], int32(0))[index]
