//! Long work in parts, one for each processor.

/// Does `work` for every other, every third, ... of the items at once: neighbours take about as
/// long.
pub fn each<T: Clone + Send + Sync, R: Send>(items: &[T], work: impl Fn(&[T]) -> R + Sync) -> Vec<R> {
    let count = std::thread::available_parallelism().map_or(1, usize::from).min(items.len().max(1));
    std::thread::scope(|scope| {
        let started: Vec<_> = (0..count)
            .map(|n| {
                let (part, work) = (items.iter().skip(n).step_by(count).cloned().collect::<Vec<T>>(), &work);
                scope.spawn(move || work(&part))
            })
            .collect();
        started.into_iter().map(|one| one.join().expect("the part is done")).collect()
    })
}
