use super::*;

/// Numbers of [0, 1), always the same.
struct Random(u64);

impl Random {
    fn next(&mut self) -> f32 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 40) as f32 / (1u64 << 24) as f32
    }

    fn point(&mut self) -> [f32; 3] {
        std::array::from_fn(|_| self.next())
    }
}

struct Boxes {
    lowers: Vec<[f32; 3]>,
    uppers: Vec<[f32; 3]>,
    groups: Option<Vec<i32>>,
}

impl Boxes {
    fn random(count: usize) -> Boxes {
        let mut random = Random(7);
        let lowers: Vec<_> = (0..count).map(|_| random.point()).collect();
        let uppers = lowers.iter().map(|lower| lower.map(|x| x + 0.05 * random.next())).collect();
        Boxes { lowers, uppers, groups: None }
    }

    fn points(points: Vec<[f32; 3]>) -> Boxes {
        Boxes { uppers: points.clone(), lowers: points, groups: None }
    }

    fn items(&self) -> Items<'_> {
        Items { lowers: &self.lowers, uppers: &self.uppers, groups: self.groups.as_deref() }
    }

    fn build(&self, strategy: Strategy, leaf_size: usize) -> Tree {
        self.items().validate().unwrap();
        let tree = Tree::build(self.items(), strategy, leaf_size);
        check(&tree, self.items(), leaf_size);
        tree
    }
}

const STRATEGIES: [Strategy; 2] = [Strategy::Sah, Strategy::Median];

/// The items below a node, and the depth of the tree there.
fn below(tree: &Tree, node: usize) -> (Vec<i32>, u32) {
    let (lower, upper) = (tree.lowers[node], tree.uppers[node]);
    if let Some(items) = tree.items_of_leaf(node) {
        return (items.to_vec(), 0);
    }
    let (mut items, left_depth) = below(tree, lower.index());
    let (right, right_depth) = below(tree, upper.index());
    items.extend(right);
    (items, 1 + left_depth.max(right_depth))
}

/// Each item is in one leaf, boxes are tight, parents and counts are right.
fn check(tree: &Tree, items: Items, leaf_size: usize) {
    let root = *tree.root as usize;
    let (mut found, depth) = below(tree, root);
    found.sort_unstable();
    assert!(found.iter().copied().eq(0..items.lowers.len() as i32));
    assert_eq!(depth, tree.depth);
    assert!(depth <= MAX_DEPTH);
    assert_eq!(tree.parents[root], -1);
    assert_eq!(tree.parents.iter().filter(|&&parent| parent < 0).count(), 1);
    assert_eq!(tree.lowers.len(), 2 * tree.leaves - 1);
    for node in 0..tree.lowers.len() {
        check_node(tree, items, node, leaf_size);
    }
}

fn check_node(tree: &Tree, items: Items, node: usize, leaf_size: usize) {
    assert!(!tree.uppers[node].is_leaf());
    let around =
        |found: &[i32]| found.iter().fold(Bounds::NOTHING, |all, &item| all.union(&items.bounds(item as usize)));
    if let Some(found) = tree.items_of_leaf(node) {
        assert!(!found.is_empty() && found.len() <= leaf_size);
        assert!(found.is_sorted());
        assert_eq!(tree.bounds(node), around(found));
    } else {
        let children = [tree.lowers[node].index(), tree.uppers[node].index()];
        assert!(children.iter().all(|&child| tree.parents[child] == node as i32));
        assert_eq!(tree.bounds(node), tree.bounds(children[0]).union(&tree.bounds(children[1])));
    }
}

#[test]
fn trees_cover_their_items() {
    for count in [1, 2, 3, 5, 17, 1000, 20_000] {
        for strategy in STRATEGIES {
            for leaf_size in [1, 4, 64] {
                Boxes::random(count).build(strategy, leaf_size);
            }
        }
    }
}

#[test]
fn equal_boxes_are_halved() {
    for strategy in STRATEGIES {
        let tree = Boxes::points(vec![[1.0, 2.0, 3.0]; 1000]).build(strategy, 1);
        assert_eq!((tree.depth, tree.leaves), (10, 1000));
    }
}

#[test]
fn geometric_rows_stay_within_the_depth() {
    let row = |count: u32, step: f64| (0..count).map(|k| [step.powi(-(k as i32)) as f32, 0.0, 0.0]).collect();
    for strategy in STRATEGIES {
        for count in [120, 140] {
            Boxes::points(row(count, 2.0)).build(strategy, 1);
        }
        Boxes::points(row(5000, 1.015)).build(strategy, 1);
        Boxes::points(row(5000, 1.015)).build(strategy, 4);
    }
}

#[test]
fn points_on_a_line_are_balanced() {
    let tree = Boxes::points((0..1024).map(|k| [k as f32, 0.0, 0.0]).collect()).build(Strategy::Sah, 1);
    assert_eq!(tree.depth, 10);
}

#[test]
fn huge_boxes_are_built() {
    let corners = [[-3e38, 3e38, 1.0], [3e38, -3e38, 0.0], [3.4e38, 3.4e38, 3.4e38], [-3.4e38; 3], [0.0; 3]];
    let boxes = Boxes { lowers: vec![[-3.4e38; 3]; 5], uppers: corners.to_vec(), groups: None };
    for strategy in STRATEGIES {
        boxes.build(strategy, 1);
    }
}

#[test]
fn refit_gives_the_boxes_of_moved_items() {
    for groups in [None, Some((0..20_000).map(|k| k % 7 - 3).collect())] {
        let mut boxes = Boxes { groups, ..Boxes::random(20_000) };
        let mut tree = boxes.build(Strategy::Sah, 4);
        for corner in boxes.lowers.iter_mut().chain(&mut boxes.uppers) {
            *corner = [corner[1] * 3.0, corner[2] - corner[0], corner[0] + 5.0];
        }
        for (lower, upper) in boxes.lowers.iter_mut().zip(&mut boxes.uppers) {
            let (a, b) = (*lower, *upper);
            (*lower, *upper) = (std::array::from_fn(|k| a[k].min(b[k])), std::array::from_fn(|k| a[k].max(b[k])));
        }
        tree.refit(boxes.items());
        check(&tree, boxes.items(), 4);
    }
}

#[test]
fn the_number_of_threads_does_not_show() {
    let boxes = Boxes { groups: Some((0..60_000).map(|k| k / 20_000).collect()), ..Boxes::random(60_000) };
    let build = |threads: usize, groups: bool, strategy| {
        let items = Items { groups: boxes.groups.as_deref().filter(|_| groups), ..boxes.items() };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| Tree::build(items, strategy, 2))
    };
    for groups in [false, true] {
        for strategy in STRATEGIES {
            let one = build(1, groups, strategy);
            for threads in [2, 5] {
                let many = build(threads, groups, strategy);
                assert!(one.lowers == many.lowers && one.uppers == many.uppers && one.parents == many.parents);
                assert!(one.primitives == many.primitives && one.root == many.root && one.depth == many.depth);
            }
        }
    }
}

/// As kernels do: the common ancestor of the first and the last leaf of the group.
fn group_root(tree: &Tree, groups: &[i32], group: i32) -> Option<usize> {
    let group_of = |leaf: usize| groups[tree.items_of_leaf(leaf).unwrap()[0] as usize];
    let leaves: Vec<usize> = (0..tree.leaves).filter(|&leaf| group_of(leaf) == group).collect();
    let path = |leaf: usize| std::iter::successors(Some(leaf), |&node| usize::try_from(tree.parents[node]).ok());
    let last: Vec<usize> = path(*leaves.last()?).collect();
    path(*leaves.first()?).find(|node| last.contains(node))
}

#[test]
fn roots_of_groups_hold_their_items() {
    for count in [1, 8, 300, 9000] {
        let mut random = Random(11);
        let groups: Vec<i32> = (0..count).map(|_| (random.next() * 9.0) as i32 * 5 - 20).collect();
        let boxes = Boxes { groups: Some(groups.clone()), ..Boxes::random(count) };
        for leaf_size in [1, 4, 100_000] {
            let tree = boxes.build(Strategy::Sah, leaf_size);
            assert!((0..tree.lowers.len()).all(|node| tree.lowers[node].is_leaf() == (node < tree.leaves)));
            assert!(
                (0..tree.leaves).map(|leaf| groups[tree.primitives[tree.lowers[leaf].index()] as usize]).is_sorted()
            );
            for group in -20..25 {
                let expected: Vec<i32> = (0..count as i32).filter(|&item| groups[item as usize] == group).collect();
                let root = group_root(&tree, &groups, group);
                let mut found = root.map_or_else(Vec::new, |root| below(&tree, root).0);
                found.sort_unstable();
                assert_eq!(found, expected);
            }
        }
    }
}

#[test]
fn wrong_lengths_of_groups_are_refused() {
    let boxes = Boxes { groups: Some(vec![0; 3]), ..Boxes::random(4) };
    let error = boxes.items().validate().unwrap_err();
    assert_eq!(error.to_string(), "there are 4 boxes and 3 groups, which must be as many");
}
