use super::*;

const INFINITY: f64 = f64::INFINITY;

/// Points from a few exact places and many others, of both signs.
fn points(count: usize) -> Vec<[f64; 3]> {
    let special = [f64::NAN, INFINITY, -INFINITY, 1e20, -1e20, -0.0, 0.5, -0.3, 4.0, 1e9, -1e9, 2147483647.5];
    let mut state = 5u64;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let number = (state >> 33) as usize;
        if number.is_multiple_of(37) {
            special[number / 37 % special.len()]
        } else {
            number as f64 / 2f64.powi(29) - 2.0
        }
    };
    (0..count).map(|_| [next(), next(), next()]).collect()
}

/// By division with floor, in i128.
fn naive_cell(coordinates: [f64; 3], dims: [i32; 3]) -> i32 {
    let [x, y, z] = std::array::from_fn(|k| {
        let cell = coordinates[k].floor().clamp(f64::from(i32::MIN), f64::from(i32::MAX - 1));
        let cell = if coordinates[k].is_nan() { 0 } else { cell as i128 };
        cell.rem_euclid(i128::from(dims[k])) as i32
    });
    (z * dims[1] + y) * dims[0] + x
}

/// Compares all arrays with a stable sort of pairs.
fn check(grid: &HashGrid, cells: &[i32], groups: Option<&[i32]>) {
    let group = |point: usize| groups.map_or(0, |groups| groups[point] as u32);
    let mut order: Vec<usize> = (0..cells.len()).collect();
    order.sort_by_key(|&point| (cells[point], group(point)));
    assert!(grid.sorted.ids.iter().map(|&id| id as usize).eq(order.iter().copied()));
    assert!(grid.sorted.cells.iter().copied().eq(order.iter().map(|&point| cells[point])));
    for cell in 0..grid.sorted.starts.len() {
        let first = order.partition_point(|&point| (cells[point] as usize) < cell) as i32;
        let end = order.partition_point(|&point| (cells[point] as usize) <= cell) as i32;
        let expected = if first < end { (first, end) } else { (0, 0) };
        assert_eq!((grid.sorted.starts[cell], grid.sorted.ends[cell]), expected);
    }
    if groups.is_some() {
        let keys = order.iter().map(|&point| (cells[point] as u64) << 32 | u64::from(group(point)));
        assert!(grid.sorted.keys.iter().copied().eq(keys));
    }
}

#[test]
fn cells_and_order_are_those_of_a_naive_sort() {
    let points = points(3000);
    let groups: Vec<i32> = (0..3000).map(|k| k % 5 - 2).collect();
    for dims in [[4, 4, 4], [1, 1, 1], [3, 7, 2], [128, 1, 5]] {
        for width in [0.1, 1.0, 3.0] {
            let mut grid = HashGrid::new(dims, Real::F32).unwrap();
            let single: Vec<[f32; 3]> = points.iter().map(|point| point.map(|x| x as f32)).collect();
            let inverse = 1.0 / width as f32;
            let cells: Vec<i32> = single.iter().map(|p| naive_cell(p.map(|x| f64::from(x * inverse)), dims)).collect();
            for groups in [None, Some(&groups[..]), None] {
                grid.build(Points::F32(&single), width, groups).unwrap();
                check(&grid, &cells, groups);
            }
        }
    }
}

#[test]
fn all_types_of_coordinates_round_as_they_are() {
    let (points, dims) = (points(2000), [5, 4, 3]);
    let mut grid = HashGrid::new(dims, Real::F64).unwrap();
    grid.build(Points::F64(&points), 0.3, None).unwrap();
    let cells: Vec<i32> = points.iter().map(|p| naive_cell(p.map(|x| x * (1.0 / 0.3)), dims)).collect();
    check(&grid, &cells, None);
    let halves: Vec<[f16; 3]> = points.iter().map(|point| point.map(f16::from_f64)).collect();
    let mut grid = HashGrid::new(dims, Real::F16).unwrap();
    grid.build(Points::F16(&halves), 0.3, None).unwrap();
    let inverse = f16::from_f32(1.0 / f16::from_f64(0.3).to_f32());
    let cells: Vec<i32> = halves.iter().map(|p| naive_cell(p.map(|x| (x * inverse).to_f64()), dims)).collect();
    check(&grid, &cells, None);
}

#[test]
fn remainders_are_exact() {
    let cells = [i32::MIN, i32::MIN + 1, -65_537, -3, -1, 0, 1, 2, 99, 65_535, i32::MAX - 1, i32::MAX];
    for dim in [1, 2, 3, 7, 64, 100, 65_536, 1_000_003, i32::MAX - 1, i32::MAX] {
        for cell in cells {
            for near in -2..3 {
                let cell = cell.wrapping_add(dim.wrapping_mul(near));
                assert_eq!(Axis::new(dim).wrap(cell), cell.rem_euclid(dim), "{cell} {dim}");
            }
        }
    }
}

/// Warp's answers: probes h03, h04, h06.
#[test]
fn cells_of_probes() {
    let cell = |x: f64| naive_cell([x, 0.5, 0.5], [4; 3]);
    assert_eq!([0.5, 4.5, -3.5, 2.5].map(cell), [0, 0, 0, 2]);
    assert_eq!([-0.3, 0.3, -1.3].map(cell), [3, 0, 2]);
    assert_eq!([f64::NAN, -INFINITY, INFINITY, 1e20].map(cell), [0, 0, 2, 2]);
}

#[test]
fn an_unbuilt_or_empty_grid_has_null_arrays() {
    let mut grid = HashGrid::new([4; 3], Real::F32).unwrap();
    for _ in 0..2 {
        let header = &grid.header;
        assert_eq!((header.point_cells, header.point_ids, header.point_keys, header.num_points), (0, 0, 0, 0));
        assert!(header.cell_starts != 0 && header.cell_ends != 0);
        grid.build(Points::F32(&[]), 1.0, None).unwrap();
    }
}

#[test]
fn few_points_after_few_points_leave_no_trace() {
    let mut grid = HashGrid::new([64; 3], Real::F32).unwrap();
    for k in 0..5 {
        let points: Vec<[f32; 3]> = (0..20).map(|p| [p as f32 * 3.0 + k as f32, k as f32, 1.0]).collect();
        grid.build(Points::F32(&points), 1.0, None).unwrap();
        let cells: Vec<i32> = points.iter().map(|p| naive_cell(p.map(f64::from), [64; 3])).collect();
        check(&grid, &cells, None);
    }
}

#[test]
fn reserved_room_keeps_addresses() {
    let mut grid = HashGrid::new([8; 3], Real::F32).unwrap();
    grid.reserve(1000, true).unwrap();
    assert!(grid.header.max_points >= 1000 && grid.header.max_keys >= 1000 && grid.header.num_points == 0);
    let points = vec![[0.5; 3]; 1000];
    let addresses =
        |grid: &HashGrid| (grid.id(), grid.header.point_ids, grid.header.point_cells, grid.header.point_keys);
    grid.build(Points::F32(&points[..1]), 1.0, Some(&[0])).unwrap();
    let before = addresses(&grid);
    grid.build(Points::F32(&points), 1.0, Some(&vec![3; 1000])).unwrap();
    assert_eq!(addresses(&grid), before);
    assert_eq!((grid.header.has_groups, grid.header.num_points), (1, 1000));
    grid.build(Points::F32(&points[..10]), 1.0, None).unwrap();
    assert_eq!((grid.header.has_groups, grid.header.num_points), (0, 10));
}

#[test]
fn room_for_too_many_points_is_refused() {
    let error = HashGrid::new([1; 3], Real::F32).unwrap().reserve(1 << 31, false).unwrap_err();
    assert_eq!(error.to_string(), "there are 2147483648 points, and at most 2147483647 are supported");
}

#[test]
fn headers_have_the_size_and_widths_of_their_type() {
    let built = |dtype, points: Points| {
        let mut grid = HashGrid::new([2, 3, 4], dtype).unwrap();
        grid.build(points, 0.25, None).unwrap();
        grid.header().to_vec()
    };
    let single = built(Real::F32, Points::F32(&[[0.0; 3]]));
    assert_eq!(single.len(), 88);
    assert_eq!(single[80..88], [0.25f32.to_le_bytes(), 4f32.to_le_bytes()].concat());
    let half = built(Real::F16, Points::F16(&[[f16::ZERO; 3]]));
    assert_eq!(half.len(), 88);
    assert_eq!(half[80..84], [f16::from_f32(0.25).to_le_bytes(), f16::from_f32(4.0).to_le_bytes()].concat());
    let double = built(Real::F64, Points::F64(&[[0.0; 3]]));
    assert_eq!(double.len(), 96);
    assert_eq!(double[80..96], [0.25f64.to_le_bytes(), 4f64.to_le_bytes()].concat());
}

#[test]
fn wrong_input_is_refused() {
    let error = |dims| HashGrid::new(dims, Real::F32).unwrap_err().to_string();
    assert_eq!(error([4, 0, 4]), "the hash grid has 4 x 0 x 4 cells, and each number must be at least 1");
    assert_eq!(error([2048; 3]), "the hash grid has 2048 x 2048 x 2048 cells, and at most 2147483647 are supported");
    let mut grid = HashGrid::new([4; 3], Real::F16).unwrap();
    for width in [0.0, -1.0, f64::NAN, INFINITY, 1e-9, 1e9] {
        let error = grid.build(Points::F16(&[[f16::ZERO; 3]]), width, None).unwrap_err();
        assert!(matches!(error, EngineError::CellWidth { dtype: "float16", .. }), "{error}");
    }
    let error = grid.build(Points::F32(&[[0.0; 3]]), 1.0, None).unwrap_err();
    assert_eq!(error.to_string(), "the hash grid is of type float16, and its points are of type float32");
    let error = grid.build(Points::F16(&[[f16::ZERO; 3]]), 1.0, Some(&[1, 2])).unwrap_err();
    assert_eq!(error.to_string(), "there are 1 points and 2 groups, which must be as many");
}

#[test]
fn a_frozen_grid_stays_when_the_grid_is_built_again() {
    let mut grid = HashGrid::new([4; 3], Real::F64).unwrap();
    grid.build(Points::F64(&[[0.5; 3], [2.5; 3]]), 1.0, Some(&[3, 1])).unwrap();
    let frozen = grid.frozen();
    grid.build(Points::F64(&[[1.5; 3]]), 2.0, None).unwrap();
    assert_eq!((frozen.ids(), grid.ids()), (&[0, 1][..], &[0][..]));
    assert_eq!((frozen.header.has_groups, frozen.header.num_points, frozen.header.dims), (1, 2, [4; 3]));
    assert_ne!((frozen.id(), frozen.header.cell_starts), (grid.id(), grid.header.cell_starts));
    assert_eq!(frozen.header.widths[..8], 1f64.to_ne_bytes());
}
